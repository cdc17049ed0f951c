variable "a" {
  dynamic "validation" {
    for_each = [1]
    content {
      condition     = true
      error_message = "x"
    }
  }
  dynamic "none" {
  }
  validation {
    dynamic "condition" {
    }
    condition     = var.a > 1
    error_message = "x"
  }
}
output "o" {
  value = 1
  dynamic "precondition" {
  }
}
check "c" {
  dynamic "assert" {
  }
}
terraform {
  dynamic "backend" {
  }
}
resource "terraform_data" "a" {
  dynamic "lifecycle" {
  }
}
