output "v" {
  value = <<"A"
x
A
}
