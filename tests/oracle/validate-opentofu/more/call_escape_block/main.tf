module "m" {
  source = "./m"
  _ {
    count = "x"
  }
}
