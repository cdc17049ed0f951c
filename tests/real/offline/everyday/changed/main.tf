terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    tls    = { source = "hashicorp/tls" }
    time   = { source = "hashicorp/time" }
    local  = { source = "hashicorp/local" }
  }
}

resource "random_pet" "name" {
  length  = 2
  keepers = { round = "2" }
}

resource "random_id" "suffix" {
  byte_length = 4
}

resource "random_integer" "port" {
  min = 8000
  max = 8999
}

resource "random_password" "admin" {
  count       = 1
  length      = 20
  min_numeric = 2
}

resource "random_shuffle" "zones" {
  input        = ["a", "b", "c"]
  result_count = 3
}

resource "time_static" "made" {}

resource "time_offset" "ends" {
  base_rfc3339 = time_static.made.rfc3339
  offset_days  = 60
}

resource "tls_private_key" "ca" {
  algorithm = "ECDSA"
}

resource "tls_self_signed_cert" "ca" {
  private_key_pem       = tls_private_key.ca.private_key_pem
  validity_period_hours = 24
  is_ca_certificate     = true
  allowed_uses          = ["cert_signing"]

  subject {
    common_name  = "ca.test"
    organization = "Ashlar"
  }
}

resource "tls_private_key" "server" {
  for_each  = toset(["two", "three"])
  algorithm = "ED25519"
}

resource "tls_cert_request" "server" {
  for_each        = tls_private_key.server
  private_key_pem = each.value.private_key_pem
  dns_names       = ["${each.key}.test"]

  subject {
    common_name = each.key
  }
}

resource "tls_locally_signed_cert" "server" {
  for_each              = tls_cert_request.server
  cert_request_pem      = each.value.cert_request_pem
  ca_private_key_pem    = tls_private_key.ca.private_key_pem
  ca_cert_pem           = tls_self_signed_cert.ca.cert_pem
  validity_period_hours = 12
  allowed_uses          = ["server_auth"]
}

resource "local_file" "fixed" {
  filename        = "${path.module}/fixed.txt"
  content         = "now another\n"
  file_permission = "0644"
}

resource "local_sensitive_file" "key" {
  filename = "${path.module}/keys/ca.pem"
  content  = tls_private_key.ca.private_key_pem
}

data "local_file" "fixed" {
  filename   = local_file.fixed.filename
  depends_on = [local_file.fixed]
}

output "name" {
  value = "${random_pet.name.id}-${random_id.suffix.hex}"
}

output "passwords" {
  value     = random_password.admin[*].result
  sensitive = true
}

output "read" {
  value = data.local_file.fixed.content
}
