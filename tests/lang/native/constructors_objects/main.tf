locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "v" {
  value = [{}, { a = 1 }, { a : 1 }, { a = 1, b = 2, }, { "a b" = 1 }, { "${local.s}" = 1 }, { (local.s) = 1 }, { 1 = 2 }, { true = 1, null = 2 }, { a = 1
    b = 2
    c = 3,
    d = 4
  }]
}
