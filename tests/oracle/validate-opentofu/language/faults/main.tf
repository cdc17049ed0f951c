language {
  edition     = tofu2030
  experiments = [a, "b"]
  other       = 1
  compatible_with { opentofu = ">= 1.12" }
  compatible_with { opentofu = ">= 1.11" }
}
language {
  edition = "tofu2024"
}
language {
  edition = TF2021
  more {}
}
