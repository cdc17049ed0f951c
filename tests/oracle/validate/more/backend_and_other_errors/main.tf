terraform {
  backend "local" {
    paht = "x"
  }
}
output "o" {
}
