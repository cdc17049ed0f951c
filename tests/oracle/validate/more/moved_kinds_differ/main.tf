moved {
  from = module.m
  to   = terraform_data.a
}
resource "terraform_data" "a" {
}
