import {
  to = module.none.terraform_data.a
  id = "x"
}
output "o" {
  value = local.none
}
