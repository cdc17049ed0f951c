locals {
  a-b   = 1
  _c    = 2
  d1-2_ = 3
}
output "v" {
  value = [local.a-b, local._c, local.d1-2_, local.a-b - 1]
}
