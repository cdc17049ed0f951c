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
  provider = kiln.by
  name     = "a"
}
module "m" {
  source    = "./m"
  providers = { kiln = kiln.by }
}
