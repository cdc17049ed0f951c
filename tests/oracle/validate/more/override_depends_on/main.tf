resource "terraform_data" "a" {
}
resource "terraform_data" "b" {
}
output "o" {
  value = 1
}
