locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [[for x in local.list : upper(x)], [for i, x in local.list : "${i}${x}"], [for x in local.list : x if x != "b"], [for k, v in local.obj : k], [for x in [] : x]]
}
