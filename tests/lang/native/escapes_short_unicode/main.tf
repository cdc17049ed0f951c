output "a" {
  value = "\u12g4 \Uabc"
}
