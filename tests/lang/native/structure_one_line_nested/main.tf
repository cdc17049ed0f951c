output "a" { precondition { condition = true } }
