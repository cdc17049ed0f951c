locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [{ for i, x in local.list : x => i }, { for x in local.objs : x.id => x.tags }, { for x in local.list : x => upper(x) if x != "a" }]
}
