terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
ephemeral "kiln_key" "a" {
  lifecycle {
    create_before_destroy = true
    prevent_destroy       = true
    destroy               = true
    ignore_changes        = all
    replace_triggered_by  = []
  }
  connection {}
  provisioner "local-exec" { command = "x" }
}
