module "m" {
  source = "./m"
  lifecycle {
  }
}
