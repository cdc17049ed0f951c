output "v" {
  value = <<
x
}
