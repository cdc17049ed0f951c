locals {
  a≈b = 1
  c = local.a≈b
}
