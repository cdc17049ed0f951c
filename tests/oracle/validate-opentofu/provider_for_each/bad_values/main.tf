terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
variable "v" { default = ["a"] }
provider "kiln" {
  alias    = "a"
  for_each = ["x"]
}
provider "kiln" {
  alias    = "b"
  for_each = kiln_pot.a.tags
}
provider "kiln" {
  alias    = "c"
  for_each = local.nope
}
provider "kiln" {
  alias    = "d"
  for_each = var.v
}
provider "kiln" {
  alias    = "e"
  for_each = toset([1])
}
