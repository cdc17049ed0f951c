output "v" {
  value = "%{ while true }x%{ endwhile }"
}
