locals {
  where = "./m"
}
module "m" {
  source = local.where
}
