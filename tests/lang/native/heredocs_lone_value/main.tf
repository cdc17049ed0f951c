output "v" {
  value = <<A
${[1, 2]}
A
}
