check "c" {
  data "kiln_echo" "a" {
    count = 1
    text  = "x"
  }
  assert {
    condition     = var.x
    error_message = "m"
  }
}
variable "x" {
  default = true
}
