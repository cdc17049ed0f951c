variable "a\u0062c" {
  default = "x"
}
output "v" {
  value = var.abc
}
