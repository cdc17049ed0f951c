locals {
  far  = list("a")
  near = [local.far]
  good = module.n.x
  odd  = resource.terraform_data.none.id
}
module "m" {
  source = "./m"
  a      = local.near
}
module "n" {
  source = "./m"
  a      = local.good
}
module "o" {
  source = "./m"
  a      = 1
  b      = 2
}
output "o" {
  value = var.nobody
}
