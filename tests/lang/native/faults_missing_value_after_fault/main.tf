output "a" {
  value = (
}
output "b" {
}
