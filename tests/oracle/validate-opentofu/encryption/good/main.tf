variable "phrase" {
  type    = string
  default = "0123456789abcdefghi"
}
terraform {
  encryption {
    key_provider "pbkdf2" "a" {
      passphrase = var.phrase
    }
    method "aes_gcm" "a" {
      keys = key_provider.pbkdf2.a
    }
    method "aes_gcm" "b" {
      keys = key_provider.pbkdf2.a
    }
    state {
      method   = method.aes_gcm.a
      enforced = true
      fallback { method = method.aes_gcm.b }
    }
    plan { method = method.aes_gcm.a }
    remote_state_data_sources {
      default { method = method.aes_gcm.a }
      remote_state_data_source "x" { method = method.aes_gcm.a }
    }
  }
}
