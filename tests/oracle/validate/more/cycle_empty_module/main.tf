module "m" {
  source     = "./m"
  depends_on = [module.m]
}
module "n" {
  source = "./m"
  count  = length(module.n)
}
