locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = "%{ for x in local.objs }%{ if x.id == 1 }one%{ else }%{ for t in x.tags }[${t}]%{ endfor }%{ endif };%{ endfor }"
}
