variable "s" { type = string }
variable "t" {
  sensitive = true
  default   = "./m"
}
variable "u" {
  const   = false
  default = "./m"
}
module "a" { source = var.t }
module "b" { source = module.a.x }
module "c" { source = local.nope }
module "d" { source = var.nope }
module "e" { source = terraform_data.x.id }
module "f" { source = local.bad }
module "g" { source = var.u }
module "h" { source = null }
locals { bad = terraform_data.x.id }
