resource "terraform_data" "a" {
}
module "m" {
  source = terraform_data.a.id
}
