output "a" {
  value = {
    x = 1 # one
    y = 2 // two
    z = 3 /* three */
  }
}
