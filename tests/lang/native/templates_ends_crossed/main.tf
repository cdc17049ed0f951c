output "v" {
  value = "%{ if true }%{ for x in [1] }%{ endif }%{ endfor }"
}
output "w" {
  value = "%{ endif }"
}
