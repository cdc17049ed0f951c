output "a" {
  value = 1 / 0 > 5
}
