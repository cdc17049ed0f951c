output "v" {
  value = 1e
}
