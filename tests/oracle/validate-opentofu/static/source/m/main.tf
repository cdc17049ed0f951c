variable "v" { type = string }
module "n" {
  source = "./${var.v}"
}
