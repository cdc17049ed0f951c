variable "s" { default = "m" }
locals { s = "./${var.s}" }
module "m" {
  source = local.s
  v      = "n"
}
