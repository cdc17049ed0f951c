locals {
  a = list("a")
  b = "x"
}
module "m" {
  source = "./m"
  a      = local.b
  count  = length(local.a)
}
output "o" {
  value = local.none
}
