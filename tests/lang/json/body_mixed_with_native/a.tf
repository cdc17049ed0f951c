variable "n" {
  default = 2
}

output "from_native" {
  value = local.from_json
}
