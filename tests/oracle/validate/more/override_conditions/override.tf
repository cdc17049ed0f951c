variable "v" {
  validation {
    condition     = var.v > 0
    error_message = "m"
  }
}
output "o" {
  precondition {
    condition     = var.v > 0
    error_message = "m"
  }
}
