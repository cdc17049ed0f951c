check "c" {
  data "terraform_remote_state" "a" {
    backend = "local"
    enabled = true
  }
  assert {
    condition     = data.terraform_remote_state.a.outputs != null
    error_message = "x"
  }
}
