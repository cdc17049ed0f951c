terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
provider "kiln" {
  alias      = "a"
  count      = 1
  source     = "x"
  depends_on = []
}
