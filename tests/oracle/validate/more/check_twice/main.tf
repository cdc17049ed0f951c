variable "x" {
  default = true
}
check "c" {
  assert {
    condition     = var.x
    error_message = "m"
  }
}
check "c" {
  assert {
    condition     = var.x
    error_message = "m"
  }
}
