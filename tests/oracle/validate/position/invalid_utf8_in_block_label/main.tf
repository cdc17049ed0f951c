output "aÿ" {
  value = 1
}
