terraform {
  required_providers {
    kiln = {
      source = "forge.test/studio/kiln"
    }
  }
}
provider "kiln" {
  alias = "north"
}
module "m" {
  source = "./m"
  providers = {
    kiln.a = kiln.north
  }
}
