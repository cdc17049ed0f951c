output "a" {
  value = "x" + 1
}
output "b" {
  value = !5
}
output "c" {
  value = -"x"
}
output "d" {
  value = null + 1
}
output "e" {
  value = [1] && true
}
