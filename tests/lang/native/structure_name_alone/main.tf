output "a" {
  value
}
