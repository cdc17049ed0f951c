terraform {
  required_providers {
    a = {
      source = "terraform/builtin/terraform"
    }
  }
}
output "o" {
  value = local.none
}
