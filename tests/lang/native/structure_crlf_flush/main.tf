output "v" {
  value = <<-E
    one
      two ${1}
    E
}
