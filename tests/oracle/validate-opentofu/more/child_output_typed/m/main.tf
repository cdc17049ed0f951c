output "x" {
  value = ["a"]
  type  = list(string)
}
