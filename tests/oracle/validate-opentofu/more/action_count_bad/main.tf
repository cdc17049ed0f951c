action "kiln_fire" "a" {
  count = "many"
  config {
    target = "x"
  }
}
