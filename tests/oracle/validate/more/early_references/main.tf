locals {
  a = module.none.x
  b = terraform_data.none.id
  c = data.terraform_remote_state.none.outputs
  d = ephemeral.none.none
  e = path.nowhere
  f = each.nothing
  g = count.nothing
  h = self
  i = each.key + count.index
  j = terraform.nothing
  k = local.k
  l = local.none
  m = var.none
  n = module.m.none
  o = action.none.none
}
module "m" {
  source = "./m"
  a = [local.a, local.b, local.c, local.d, local.e, local.f, local.g, local.h, local.i, local.j, local.k, local.l, local.m, local.n, local.o]
}
module "n" {
  source = "./m"
  a      = 1
  count  = local.p
}
locals {
  p = not_a_function()
}
output "o" {
  value = local.none
}
