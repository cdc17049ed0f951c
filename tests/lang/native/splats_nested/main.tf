locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [[1, 2], [3]][*][*]
}
output "w" {
  value = flatten([for o in local.objs : o.tags[*]])
}
