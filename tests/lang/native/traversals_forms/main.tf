locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [local.obj.k, local.obj["k"], local.list[0], local.list.1, local.obj.n.x[1], local.objs[1].tags[0], local.objs.0.id, local.obj["n"]["x"][0], local.list[local.n - 1]]
}
