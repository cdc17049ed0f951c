terraform {
  backend "local" {
    path = terraform_data.a.id
  }
}
resource "terraform_data" "a" {}
