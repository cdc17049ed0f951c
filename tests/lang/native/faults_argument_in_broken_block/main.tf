output "a" {
  unexpected = 1
  value      = (1
}
variable "a" {
  sensitive = maybe
}
