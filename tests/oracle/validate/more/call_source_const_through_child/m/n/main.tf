locals {
  a = local.b
}
