locals {
  a = ÿ
  b = 1
}
output "c" {
  value = local.b.c
}
