locals {
  a = local.b
  b = local.a
}
module "m" {
  source = "./m"
  a      = local.b
  c      = 1
}
output "o" {
  value = local.none
}
