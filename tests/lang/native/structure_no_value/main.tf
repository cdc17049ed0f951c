output "a" {
  value =
}
output "b" {
  value = 2
}
