terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals {
  a = provider::oven::shout("x")
  c = try(provider::none::x(1), 1)
}
