output "v" {
  value = true ? 1
}
