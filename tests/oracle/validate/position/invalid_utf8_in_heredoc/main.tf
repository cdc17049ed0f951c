locals {
  a = <<EOT
xéy
EOT
  b = 1 +
}
