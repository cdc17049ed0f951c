terraform {
  required_providers {
    kiln = {
      source = "forge.test/studio/kiln"
    }
  }
}
import {
  to       = kiln_pot.zz
  id       = "x"
  provider = kiln.b
}
output "o" {
  value = local.none
}
