output "v" {
  value = 1abc
}
output "w" {
  value = 1_000
}
output "x" {
  value = .5
}
