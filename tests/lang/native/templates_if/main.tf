locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = ["%{ if local.n > 2 }yes%{ endif }", "%{ if local.n > 5 }yes%{ else }no%{ endif }", "%{if false}x%{endif}"]
}
