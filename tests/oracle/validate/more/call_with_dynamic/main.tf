module "m" {
  source = "./m"
  dynamic "a" {
    for_each = [1]
    content {}
  }
}
