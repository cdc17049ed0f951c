moved {
  from = resource.terraform_data.b
  to   = resource.terraform_data.a
}
resource "terraform_data" "a" {
}
