locals {
  a = "\ÿ"
  b = "$ÿ"
}
