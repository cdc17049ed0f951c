output "v" {
  value = <<A
outer ${upper(<<B
inner
B
)} end
A
}
