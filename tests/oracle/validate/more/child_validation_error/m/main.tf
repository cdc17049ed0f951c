variable "x" {
  validation {
    condition     = var.x > local.nope
    error_message = "m"
  }
}
