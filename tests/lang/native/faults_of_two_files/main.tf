output "a" {
  value = ]
}
