variable "v" {
}
locals {
  b = 1
}
output "o" {
  value = 1
}
module "m" {
  source = "./m"
}
resource "terraform_data" "a" {
}
data "terraform_remote_state" "a" {
}
provider "kiln" {
  alias = "x"
}
action "kiln_fire" "a" {
}
