output "v" {
  value = <<EOT
  one
  EOT
}
