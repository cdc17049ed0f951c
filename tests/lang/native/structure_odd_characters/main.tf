output "a" {
  value = 1;
}
output "b" {
  value = 'x'
}
output "c" {
  value = `x`
}
output "d" {
  value = “x”
}
