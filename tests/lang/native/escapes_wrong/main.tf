output "a" {
  value = "\x"
}
output "b" {
  value = "\u12"
}
output "c" {
  value = "\U0011FFFF"
}
output "d" {
  value = "\'"
}
