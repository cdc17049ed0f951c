terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}

variable "text" {
  type = string
}

output "text" {
  value = [provider::kiln::shout(var.text), provider::oven::shout(var.text)]
}
