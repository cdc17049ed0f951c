resource "terraform_data" "a" {
  lifecycle {
    precondition {
      condition     = var.v == 2
      error_message = "m"
    }
  }
}
