terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
locals {
  a = provider::terraform::encode_expr([1])
  b = provider::terraform::encode_tfvars(1)
  c = provider::terraform::decode_tfvars("a =")
  d = provider::terraform::encode_expr(null)
  e = provider::terraform::nope()
}
