removed {
  from = terraform_data.a
  lifecycle { destroy = false }
}
removed {
  from = terraform_data.b
  lifecycle { destroy = true }
  provisioner "local-exec" {
    when    = destroy
    command = "echo"
  }
}
removed {
  from = terraform_data.c
  lifecycle { destroy = false }
  provisioner "local-exec" {
    when    = destroy
    command = "echo"
  }
}
removed { from = module.m }
