resource "terraform_data" "a" {
  count = 1
  lifecycle { enabled = true }
}
resource "terraform_data" "b" {
  lifecycle { enabled = true }
  for_each = {}
}
resource "terraform_data" "c" {
  for_each = {}
  count    = 1
  lifecycle { enabled = true }
}
module "m" {
  source = "./m"
  count  = 1
  lifecycle { enabled = true }
}
data "terraform_remote_state" "a" {
  backend  = "local"
  for_each = {}
  lifecycle { enabled = true }
}
