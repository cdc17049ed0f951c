output "a" {
  value = 1 description = "d"
}
