output "v" {
  value = ["👩‍👩‍👧", length("👩‍👩‍👧"), strrev("a🇩🇪b")]
}
