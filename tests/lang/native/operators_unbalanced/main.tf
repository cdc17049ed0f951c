output "v" {
  value = (1 + 2
}
output "w" {
  value = 3)
}
