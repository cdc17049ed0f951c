output "old" {
  value      = 1
  deprecated = "gone"
}
