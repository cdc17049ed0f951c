locals {
  for  = 1
  in   = 2
  if   = 3
  else = 4
}
output "v" {
  value = [local.for, local.in, local.if, local.else]
}
