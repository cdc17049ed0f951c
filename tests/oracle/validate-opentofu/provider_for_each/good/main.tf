terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals { regions = toset(["a", "b"]) }
provider "kiln" {
  alias    = "by"
  for_each = local.regions
  region   = each.value
}
resource "kiln_pot" "a" {
  for_each = toset(["a"])
  provider = kiln.by[each.key]
  name     = each.key
}
resource "kiln_pot" "b" {
  provider = kiln.by["b"]
  name     = "b"
}
module "m" {
  source    = "./m"
  providers = { kiln = kiln.by["a"] }
}
