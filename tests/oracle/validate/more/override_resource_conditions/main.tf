variable "v" {
  default = 1
}
resource "terraform_data" "a" {
}
