output "a" {
  value = "x${ /* in */ 1 + # line
  2 }y"
}
