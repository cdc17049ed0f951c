output "a" {
  value = 1 +
}
output "b" {
  value = [1 2]
}
output "c" {
  wrong = 3
}
nothing "x" {}
output "d" {
  value = local.none
}
