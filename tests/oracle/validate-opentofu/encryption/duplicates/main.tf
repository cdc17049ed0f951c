terraform {
  encryption {
    key_provider "pbkdf2" "a" { passphrase = "0123456789abcdefghi" }
    key_provider "pbkdf2" "a" { passphrase = "0123456789abcdefghi" }
    method "unencrypted" "b" {}
    method "unencrypted" "b" {}
  }
}
