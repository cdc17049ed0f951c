module "1m" {
  source = "./m"
}
