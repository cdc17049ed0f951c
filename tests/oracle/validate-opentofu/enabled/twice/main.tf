module "n" {
  source = "./m"
  lifecycle { enabled = true }
  lifecycle { enabled = false }
}
