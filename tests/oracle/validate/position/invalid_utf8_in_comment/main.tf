# café
locals {
  a = 1 // ÿþ
  /* é */ b = local.nope
}
