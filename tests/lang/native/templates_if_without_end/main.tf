output "v" {
  value = "%{ if true }x"
}
