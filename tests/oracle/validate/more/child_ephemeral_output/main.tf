module "m" {
  source = "./m"
}
locals {
  a = module.m.x
}
