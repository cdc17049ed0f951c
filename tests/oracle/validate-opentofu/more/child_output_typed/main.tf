module "m" {
  source = "./m"
}
resource "terraform_data" "a" {
  count = module.m.x
}
