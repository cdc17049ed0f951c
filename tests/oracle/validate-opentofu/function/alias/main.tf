terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
provider "kiln" { alias = "x" }
locals {
  a = provider::kiln::x::shout("x")
  b = provider::kiln::y::shout("x")
}
