resource "terraform_data" "a" {
  lifecycle {
    action_trigger {
      events  = [after_create]
      actions = [action.kiln_fire.a]
    }
  }
}
action "kiln_fire" "a" {}
