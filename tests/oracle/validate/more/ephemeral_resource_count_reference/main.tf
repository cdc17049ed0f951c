ephemeral "kiln_key" "k" {
  count = 2
  name  = "k${count.index}"
}
locals {
  a = ephemeral.kiln_key.k[0].nope
  b = ephemeral.kiln_key.k.token
}
