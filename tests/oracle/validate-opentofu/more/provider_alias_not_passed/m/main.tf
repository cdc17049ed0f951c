terraform {
  required_providers {
    kiln = {
      source                = "forge.test/studio/kiln"
      configuration_aliases = [kiln.a]
    }
  }
}
resource "kiln_brick" "a" {
  provider = kiln.a
  name     = "a"
}
