output "a" {
  value = "\ud83d\ude00"
}
