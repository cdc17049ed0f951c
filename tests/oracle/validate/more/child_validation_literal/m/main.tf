variable "name" {
  validation {
    condition     = length(var.name) > 3
    error_message = "Too short."
  }
}
