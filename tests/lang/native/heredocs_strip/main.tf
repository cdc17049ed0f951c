output "v" {
  value = <<EOT
a
${~ 1 ~}
  b
  ${~ 2 }
c
EOT
}
