module "m" {
  source = "./m"
  name   = "q"
}
