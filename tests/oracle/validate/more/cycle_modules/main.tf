module "a" {
  source = "./m"
  x      = module.b.y
}
module "b" {
  source = "./m"
  x      = module.a.y
}
