module "m" {
  source   = "./m"
  for_each = sensitive(toset(["a"]))
}
import {
  to = module.m.terraform_data.zz
  id = "x"
}
locals {
  a = local.none
}
import {
  to = terraform_data.b
  id = local.a
}
