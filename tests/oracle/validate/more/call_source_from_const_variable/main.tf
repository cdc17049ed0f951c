variable "where" {
  default = "./m"
  const   = true
}
module "m" {
  source = var.where
}
