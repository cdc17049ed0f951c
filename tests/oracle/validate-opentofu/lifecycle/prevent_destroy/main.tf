variable "v" { type = bool }
locals { l = var.v }
resource "terraform_data" "a" {
  lifecycle { prevent_destroy = var.v }
}
resource "terraform_data" "b" {
  for_each = { a = true }
  lifecycle { prevent_destroy = each.value && local.l }
}
resource "terraform_data" "c" {
  lifecycle { prevent_destroy = true }
}
