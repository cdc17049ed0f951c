output "v" {
  value = 1 +
}
output "w" {
  value = * 2
}
