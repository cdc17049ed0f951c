output "a" {
  value = "x
}
output "b" {
  value = 2
}
