output "x" {
  value     = "s"
  sensitive = true
}
