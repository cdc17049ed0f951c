terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
resource "kiln_pot" "c" {
  name = "c"
}
