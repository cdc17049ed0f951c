locals {
  a = "é"
  b = "é"
}
output "v" {
  value = [local.a == local.b, length(local.a), "x́${"́"}", lower("É")]
}
