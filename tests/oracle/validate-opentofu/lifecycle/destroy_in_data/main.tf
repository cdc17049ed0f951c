data "terraform_remote_state" "a" {
  backend = "local"
  lifecycle {
    destroy         = false
    prevent_destroy = true
  }
}
