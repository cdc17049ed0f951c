output "v" {
  value = "%{ if "maybe" }x%{ endif }"
}
