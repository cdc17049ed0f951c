output "v" {
  value = <<A
one
}
