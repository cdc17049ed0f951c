terraform {
  required_providers {
    loud = { source = "forge.test/studio/kiln" }
  }
}

provider "loud" {
  region = provider::loud::shout([])
}

variable "b" {
  type = string
  validation {
    condition     = provider::loud::shout(var.b) == provider::loud::nope()
    error_message = provider::loud::shout({})
  }
}
