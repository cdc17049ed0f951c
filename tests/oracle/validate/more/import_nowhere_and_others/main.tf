resource "terraform_data" "a" {
  count = -1
}
import {
  for_each = list("a")
  to       = terraform_data.none
  id       = each.key
}
import {
  to = terraform_data.none[0]
  id = nothing
}
import {
  to = module.m.terraform_data.none
  id = "x"
}
module "m" {
  source = "./m"
}
output "o" {
  value = local.none
}
