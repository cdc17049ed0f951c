terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
    kiln      = { source = "forge.test/studio/kiln" }
  }
}

locals {
  f = provider::terraform::encode_tfvars(5)
  g = provider::terraform::encode_tfvars({ "a b" = 1 })
  h = provider::terraform::decode_tfvars("a =")
  i = provider::terraform::decode_tfvars("a {}")
  j = provider::terraform::decode_tfvars(null)
  k = provider::terraform::encode_expr(null)
  l = provider::terraform::encode_tfvars()
  m = provider::terraform::encode_tfvars(1, 2)
  n = provider::terraform::encode_tfvars([1]...)
  p = provider::kiln::shout(null, file("none"))
  q = [provider::kiln::fuse(null, null)]
  r = provider::kiln::fuse([], null, {})
  s = provider::kiln::fuse("-", file("none"), [])
  t = provider::kiln::fuse("-", ["a", []]...)
  u = provider::kiln::refuse("x")
  v = provider::kiln::flip(["a", null])
  w = provider::kiln::describe()
  x = provider::kiln::parse_tag("a=b").value.more
  y = provider::kiln::flip("a")[provider::kiln::nope()]
}
