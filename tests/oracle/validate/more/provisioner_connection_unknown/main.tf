resource "terraform_data" "a" {
  connection {
    host = "h"
    usr  = "u"
  }
  provisioner "remote-exec" {
    inline = ["x"]
  }
}
