locals {
  n    = 3
  s    = "text"
  list = ["a", "b", "c"]
  obj  = { k = "v", n = { x = [1, 2] } }
  objs = [{ id = 1, tags = ["p"] }, { id = 2, tags = ["q", "r"] }]
}
output "a" {
  value = local.obj.none
}
output "b" {
  value = local.list[7]
}
output "c" {
  value = local.list["x"]
}
output "d" {
  value = local.n.x
}
output "e" {
  value = local.list[0.5]
}
