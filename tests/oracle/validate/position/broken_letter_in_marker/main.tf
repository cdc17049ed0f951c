locals {
  a = <<EébF
  x
  EébF
}
