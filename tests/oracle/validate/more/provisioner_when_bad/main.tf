resource "terraform_data" "a" {
  provisioner "local-exec" {
    when       = later
    on_failure = ignore
    command    = "x"
  }
}
