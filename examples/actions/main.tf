# Actions: what is done on the side of a change, or when somebody asks for it, and is no object of the state.
#
#   ashlar apply --dir examples/actions                                     announces each new release
#   ashlar apply --dir examples/actions --invoke action.local_command.greet   greets, and does nothing else

terraform {
  required_providers {
    local = {
      source  = "hashicorp/local"
      version = ">= 2.6.0"
    }
  }
}

variable "release" {
  description = "What is released."
  type        = string
  default     = "1.0"
}

resource "terraform_data" "release" {
  input = var.release

  lifecycle {
    action_trigger {
      events  = [after_create, after_update]
      actions = [action.local_command.announce]
    }
  }
}

action "local_command" "announce" {
  config {
    command   = "echo"
    arguments = ["Released ${var.release}."]
  }
}

action "local_command" "greet" {
  config {
    command   = "echo"
    arguments = ["Hello."]
  }
}

output "release" {
  value = terraform_data.release.output
}
