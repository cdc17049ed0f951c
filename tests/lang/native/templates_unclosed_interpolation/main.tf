output "a" {
  value = "x${1 + 2"
}
output "b" {
  value = 2
}
