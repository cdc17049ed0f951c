module "m" {
  source   = "./m"
  for_each = sensitive(toset(["a"]))
}
