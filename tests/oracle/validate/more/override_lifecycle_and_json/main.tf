resource "terraform_data" "a" {
  input = "x"
  lifecycle {
    prevent_destroy = true
  }
}
output "o" {
  value = terraform_data.a.nope
}
