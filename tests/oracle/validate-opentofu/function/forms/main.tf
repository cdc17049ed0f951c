locals {
  a = provider::kiln("x")
  b = a::b("x")
  c = core::nope("x")
  d = core::upper("x")
}
