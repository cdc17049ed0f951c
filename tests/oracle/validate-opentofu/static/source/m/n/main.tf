output "x" { value = local.nope }
