output "v" {
  value = 0x1F
}
