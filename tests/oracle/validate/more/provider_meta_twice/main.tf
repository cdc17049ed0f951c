terraform {
  provider_meta "kiln" {
    a = 1
  }
  provider_meta "kiln" {
    a = var.x
  }
}
