output "v" {
  value = <<E
a\nb \" \u00e9 \x
E
}
