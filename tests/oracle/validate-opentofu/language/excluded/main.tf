language {
  compatible_with { opentofu = ">= 99.0" }
}
output "o" { value = local.nope }
