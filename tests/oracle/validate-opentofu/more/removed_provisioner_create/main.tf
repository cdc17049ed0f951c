removed {
  from = terraform_data.a
  provisioner "local-exec" {
    command = "x"
  }
}
