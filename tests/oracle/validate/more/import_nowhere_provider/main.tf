import {
  to = kilnish_pot.zz
  id = "x"
}
output "o" {
  value = local.none
}
