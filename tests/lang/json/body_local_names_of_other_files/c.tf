locals {
  c = local.b
}
