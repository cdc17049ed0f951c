module "m" {
  source = "./m"
  count  = local.nope
}
