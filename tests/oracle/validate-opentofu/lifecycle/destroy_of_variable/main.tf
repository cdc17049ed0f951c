variable "v" { type = bool }
resource "terraform_data" "a" {
  lifecycle { destroy = var.v }
}
resource "terraform_data" "b" {
  lifecycle { destroy = local.nope }
}
