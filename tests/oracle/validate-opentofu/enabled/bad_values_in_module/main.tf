module "m" {
  source = "./m"
  lifecycle { enabled = {} }
}
module "n" {
  source = "./m"
  lifecycle {
    enabled        = true
    ignore_changes = all
  }
}
