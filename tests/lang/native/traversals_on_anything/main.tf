locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [{ a = 1 }.a, [5, 6][1], (local.obj).k, upper("x")[*], [for x in local.list : x][0], "${local.obj}".k, { "a b" = 1 }["a b"]]
}
