module "m" {
  source = "./m"
  x      = each.key
}
