variable "v" { default = "1.0" }
module "a" {
  source  = "./m"
  version = var.v
}
module "b" {
  source  = "hashicorp/x/y"
  version = "wat"
}
module "c" {
  source  = "./m"
  version = null
}
