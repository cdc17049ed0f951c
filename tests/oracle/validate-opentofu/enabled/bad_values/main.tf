terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
resource "kiln_pot" "a" {
  name = "a"
  lifecycle { enabled = "x" }
}
resource "kiln_pot" "b" {
  name = "b"
  lifecycle { enabled = null }
}
resource "kiln_pot" "c" {
  name = "c"
  lifecycle { enabled = [] }
}
resource "kiln_pot" "d" {
  name = "d"
  lifecycle { enabled = kiln_pot.d.id == "x" }
}
resource "kiln_pot" "e" {
  name = "e"
  lifecycle { enabled = sensitive(true) }
}
