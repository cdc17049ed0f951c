output "v" {
  value = "%{ if true }x%{ else }y%{ else }z%{ endif }"
}
