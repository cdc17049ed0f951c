variable "a" {}
output "x" {
  value = nothing
}
