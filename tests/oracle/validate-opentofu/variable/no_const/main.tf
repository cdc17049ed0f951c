variable "a" {
  const   = true
  default = 1
}
variable "b" {
  deprecated = "use a"
  default    = 1
}
variable "c" {
  ephemeral = true
  default   = 1
}
output "b" {
  deprecated = "x"
  value      = var.b
}
output "c" {
  value = var.c
}
output "d" {
  value = 1
  type  = string
}
