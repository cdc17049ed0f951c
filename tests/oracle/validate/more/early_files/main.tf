locals {
  a = file("${path.module}/text")
  b = try(file("none"), "fallback")
  c = abspath(path.root)
  d = file("none")
}
module "m" {
  source = "./m"
  a      = [local.a, local.b, local.c]
}
output "o" {
  value = module.m.a
}
