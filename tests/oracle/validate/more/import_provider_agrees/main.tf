terraform {
  required_providers {
    kiln = {
      source = "forge.test/studio/kiln"
    }
  }
}
provider "kiln" {
  alias = "b"
}
resource "kiln_brick" "a" {
  name     = "a"
  provider = kiln.b
}
import {
  to       = kiln_brick.a
  id       = local.none
  provider = kiln.b
}
