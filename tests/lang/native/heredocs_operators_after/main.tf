output "v" {
  value = <<A
x
A
  == "x\n"
}
