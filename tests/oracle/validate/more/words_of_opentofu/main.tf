language {
  edition = tofu2024
}

terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
  encryption {}
}

provider "kiln" {
  alias    = "a"
  for_each = {}
}

resource "kiln_pot" "a" {
  provider = kiln.a["x"]
  name     = "a"
  lifecycle {
    enabled         = true
    destroy         = false
    prevent_destroy = var.x
  }
}

module "m" {
  source    = "./m"
  providers = { kiln = kiln.a["x"] }
  lifecycle { enabled = true }
}
