output "v" {
  value = <<EOT
EOT here
here EOT
EOTX
 EOT_
EOT
}
