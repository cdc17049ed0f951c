output "a" {
  value = 1 & 2
}
output "b" {
  value = 1 | 2
}
output "c" {
  value = 1 ^ 2
}
output "d" {
  value = ~1
}
output "e" {
  value = 1 & 3
}
