output "a" {
  value = none.at.all
}
output "b" {
  value = "${"
}
