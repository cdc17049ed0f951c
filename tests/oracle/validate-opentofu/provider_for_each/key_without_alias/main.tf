terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals { regions = toset(["a", "b"]) }
resource "kiln_pot" "a" {
  provider = kiln["a"]
  name     = "a"
}
resource "kiln_pot" "b" {
  provider = kiln.x.y
  name     = "b"
}
resource "kiln_pot" "c" {
  provider = kiln.x["a"].b
  name     = "b"
}
