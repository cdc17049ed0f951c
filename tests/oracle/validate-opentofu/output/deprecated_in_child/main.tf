module "m" {
  source = "./m"
  v      = 1
}
output "o" { value = module.m.o }
locals { o = module.m.o }
resource "terraform_data" "a" { input = module.m.o }
