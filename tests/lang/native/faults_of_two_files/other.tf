output "b" {
  value = }
}
