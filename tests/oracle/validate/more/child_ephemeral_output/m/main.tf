output "x" {
  value     = terraform.applying
  ephemeral = true
}
