terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals { regions = toset(["a", "b"]) }
provider "kiln" {
  alias = "one"
}
resource "kiln_pot" "a" {
  provider = kiln.one["a"]
  name     = "a"
}
resource "kiln_pot" "b" {
  provider = kiln.none["a"]
  name     = "b"
}
