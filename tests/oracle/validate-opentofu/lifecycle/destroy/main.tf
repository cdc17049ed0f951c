resource "terraform_data" "a" {
  lifecycle { destroy = false }
}
resource "terraform_data" "b" {
  lifecycle { destroy = "x" }
}
resource "terraform_data" "c" {
  lifecycle { destroy = null }
}
