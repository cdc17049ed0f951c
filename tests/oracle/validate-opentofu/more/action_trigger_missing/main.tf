resource "terraform_data" "a" {
  lifecycle {
    action_trigger {
      events = []
    }
  }
}
