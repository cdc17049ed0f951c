language {
  edition     = tofu2024
  experiments = []
  compatible_with {
    opentofu = ">= 1.12.0"
    other    = "anything"
  }
}
