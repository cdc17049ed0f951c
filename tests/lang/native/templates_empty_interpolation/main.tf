output "a" {
  value = "x${}"
}
