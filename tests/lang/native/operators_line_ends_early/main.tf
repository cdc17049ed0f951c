output "v" {
  value = 1
    + 2
}
