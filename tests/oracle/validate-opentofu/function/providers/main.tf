terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
locals {
  a = provider::kiln::shout("x")
  b = provider::kiln::nope("x")
  c = provider::kiln::some::nope("x")
  d = provider::kiln::refuse("x")
  e = provider::kiln::shout(null)
  f = provider::kiln::shout([])
  g = provider::kiln::shout()
  h = provider::kiln::flip(["a", null])
}
