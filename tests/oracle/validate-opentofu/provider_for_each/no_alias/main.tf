terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
provider "kiln" {
  for_each = toset(["a"])
}
