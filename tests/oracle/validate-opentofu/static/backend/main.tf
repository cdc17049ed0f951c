variable "p" { default = "x.tfstate" }
locals { p = "a/${var.p}" }
terraform {
  backend "local" {
    path = local.p
  }
}
