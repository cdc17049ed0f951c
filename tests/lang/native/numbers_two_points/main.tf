output "v" {
  value = 1.2.3
}
output "w" {
  value = 10.0.0.1/8
}
