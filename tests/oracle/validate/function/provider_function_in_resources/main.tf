terraform {
  required_providers {
    loud = { source = "forge.test/studio/kiln" }
  }
}

variable "b" {
  type = string
}

resource "kiln_pot" "a" {
  provider = loud
  count    = provider::loud::shout("x")
  name     = provider::loud::shout([])

  lifecycle {
    precondition {
      condition     = provider::loud::shout(var.b, var.b)
      error_message = provider::loud::shout([])
    }
  }
}

resource "kiln_rack" "a" {
  provider = loud
  name     = "x"

  dynamic "bar" {
    for_each = provider::loud::flip(provider::loud::nope())
    content {
      key = provider::loud::shout(bar)
    }
  }
}

check "c" {
  assert {
    condition     = can(provider::loud::nope(var.b)) && try(provider::loud::shout([]), true)
    error_message = provider::loud::parse_tag("none").key
  }
}

output "o" {
  value = templatestring("$${provider::loud::nope(1)}", {})
}
