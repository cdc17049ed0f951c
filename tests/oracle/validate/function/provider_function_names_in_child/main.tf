terraform {
  required_providers {
    oven = { source = "forge.test/studio/kiln" }
  }
}

module "m" {
  source = "./m"
  text   = provider::kiln::shout("x")
}

output "o" {
  value = provider::oven::shout(module.m.text)
}
