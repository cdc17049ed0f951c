language {
  compatible_with { opentofu = ">= 1.0" }
}
language {
  compatible_with { opentofu = "> x" }
}
