variable "v" {
  deprecated = "gone"
}
output "o" {
  deprecated = "use another"
  value      = var.v
}
