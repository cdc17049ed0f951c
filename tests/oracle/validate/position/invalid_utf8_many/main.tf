locals {
  a = "ÿ"
  b = "þ"
  c = "x"
  d = ]
}
