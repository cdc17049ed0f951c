locals {
  a = [1,
    2]
}
output "v" {
  value = {
    x = local.a
    y = <<E
one
two
E
  }
}
