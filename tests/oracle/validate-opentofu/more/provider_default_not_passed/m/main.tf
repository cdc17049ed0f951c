terraform {
  required_providers {
    kiln = {
      source                = "forge.test/studio/kiln"
      configuration_aliases = [kiln]
    }
  }
}
resource "kiln_brick" "a" {
  name = "a"
}
