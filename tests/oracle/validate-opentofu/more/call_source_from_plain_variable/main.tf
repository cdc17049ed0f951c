variable "where" {
  default = "./m"
}
module "m" {
  source = var.where
}
