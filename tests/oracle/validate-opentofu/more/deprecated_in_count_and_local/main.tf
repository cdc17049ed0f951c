module "m" {
  source = "./m"
}
locals {
  a = module.m.old
  b = [module.m.old]
  c = local.b
}
resource "terraform_data" "a" {
  count = module.m.old
  input = { a = module.m.old }
}
