output "c" {
  value = provider::none::f(1)
}
