terraform {
  required_providers {
    random = { source = "hashicorp/random", version = "~> 3.9" }
    tls    = { source = "hashicorp/tls" }
    time   = { source = "hashicorp/time" }
    local  = { source = "hashicorp/local" }
  }
}

variable "owner" {
  type        = string
  default     = "quickstart"
  description = "Whose greeting it is."
}

variable "rooms" {
  type    = map(object({ floor = number, key = optional(bool, false) }))
  default = { hall = { floor = 0 }, study = { floor = 1, key = true } }
}

locals {
  locked = [for name, room in var.rooms : name if room.key]
}

resource "random_pet" "name" {
  for_each = var.rooms
  prefix   = each.key
  length   = 2
}

resource "tls_private_key" "room" {
  count     = length(local.locked)
  algorithm = "ED25519"
}

resource "time_static" "opened" {
  triggers = { owner = var.owner }
}

resource "local_file" "note" {
  filename        = "${path.module}/note.txt"
  file_permission = "0644"
  content         = <<-EOT
    ${title(var.owner)}, opened ${formatdate("YYYY-MM-DD", time_static.opened.rfc3339)}
    %{~ for name, pet in random_pet.name }
    ${name}: ${pet.id}
    %{~ endfor }
  EOT
}

output "rooms" {
  value = { for name, pet in random_pet.name : name => pet.id }
}

output "keys" {
  value = tls_private_key.room[*].public_key_openssh
}

output "private_keys" {
  value     = tls_private_key.room[*].private_key_openssh
  sensitive = true
}
