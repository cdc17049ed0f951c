output "a" {
  value = 1
}
/* never closed
output "b" {
  value = 2
}
