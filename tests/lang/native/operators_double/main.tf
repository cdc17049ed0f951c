output "v" {
  value = !!true
}
output "w" {
  value = 1 ++ 2
}
