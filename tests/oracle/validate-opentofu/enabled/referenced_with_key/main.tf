resource "terraform_data" "a" {
  lifecycle { enabled = true }
}
output "a" { value = terraform_data.a[0].id }
