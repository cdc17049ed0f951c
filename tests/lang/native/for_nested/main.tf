locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [for o in local.objs : [for t in o.tags : "${o.id}${t}" if t != "q"]]
}
