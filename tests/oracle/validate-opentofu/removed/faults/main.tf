removed {
  from = module.m
  provisioner "local-exec" {
    when    = destroy
    command = "echo"
  }
}
removed {
  from = terraform_data.b
  lifecycle { destroy = true }
  lifecycle { destroy = true }
}
removed {
  from = terraform_data.c
  provisioner "local-exec" { command = "echo" }
}
removed {
  from = terraform_data.d
  connection {}
}
