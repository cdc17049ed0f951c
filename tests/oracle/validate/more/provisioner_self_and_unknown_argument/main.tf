resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = self.nope
    comand  = "x"
  }
}
