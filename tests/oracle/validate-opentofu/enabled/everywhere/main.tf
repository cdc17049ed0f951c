terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
variable "on" { type = bool }
resource "kiln_pot" "a" {
  name = "a"
  lifecycle { enabled = var.on }
}
data "kiln_echo" "a" {
  text = "x"
  lifecycle { enabled = true }
}
ephemeral "kiln_key" "a" {
  name = "x"
  lifecycle { enabled = false }
}
module "m" {
  source = "./m"
  lifecycle { enabled = var.on }
}
output "a" { value = kiln_pot.a.id }
output "m" { value = module.m.o }
