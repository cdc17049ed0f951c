output "v" {
  value = [true ? 1 : "a", true ? [1] : ["a"], false ? { a = 1 } : { a = "x" }]
}
output "w" {
  value = true ? [1] : "a"
}
