output "v" {
  value = ["日本 é é 👩‍👩‍👧", nothing.here]
}
