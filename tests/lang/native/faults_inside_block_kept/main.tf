variable "x" {
  type    = strin
  default = [
}
output "a" {
  value = var.x
}
