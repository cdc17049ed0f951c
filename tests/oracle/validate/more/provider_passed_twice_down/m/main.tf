terraform {
  required_providers {
    kiln = {
      source                = "forge.test/studio/kiln"
      configuration_aliases = [kiln.a]
    }
  }
}
module "n" {
  source = "./n"
  providers = {
    kiln = kiln.a
  }
}
