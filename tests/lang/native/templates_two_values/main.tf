output "a" {
  value = "x${1 2}"
}
