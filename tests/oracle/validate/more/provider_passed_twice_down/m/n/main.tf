terraform {
  required_providers {
    kiln = {
      source = "forge.test/studio/kiln"
    }
  }
}
resource "kiln_brick" "a" {
  nmae = "a"
}
