output "c" {
  nothing = 1
}
