output "v" {
  value = (1
    + 2
    * 3)
}
output "w" {
  value = [1
    + 2, true
    ? 1
    : 2]
}
