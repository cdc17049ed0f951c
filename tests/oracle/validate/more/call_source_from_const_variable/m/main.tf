output "x" {
  value = nope
}
