output "a" { value = 1 }
locals {}
locals { x = "y" }
output "b" {value=local.x}
