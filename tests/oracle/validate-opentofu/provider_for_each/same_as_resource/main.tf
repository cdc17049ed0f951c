terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals { regions = toset(["a", "b"]) }
provider "kiln" {
  alias    = "by"
  for_each = local.regions
}
resource "kiln_pot" "a" {
  for_each = local.regions
  provider = kiln.by[each.key]
  name     = each.key
}
