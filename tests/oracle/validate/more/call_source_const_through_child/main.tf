module "m" {
  source = "./m"
  where  = "./n"
}
