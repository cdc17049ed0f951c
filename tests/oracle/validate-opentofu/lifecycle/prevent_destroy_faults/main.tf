resource "terraform_data" "a" {
  lifecycle { prevent_destroy = "x" }
}
resource "terraform_data" "b" {
  lifecycle { prevent_destroy = local.nope }
}
resource "terraform_data" "c" {
  lifecycle { prevent_destroy = self.id == "a" }
}
resource "terraform_data" "d" {
  lifecycle { prevent_destroy = terraform_data.d.id == "a" }
}
resource "terraform_data" "e" {
  lifecycle { prevent_destroy = null }
}
resource "terraform_data" "f" {
  lifecycle { prevent_destroy = each.key }
}
resource "terraform_data" "g" {
  lifecycle { prevent_destroy = upper([]) }
}
