output "v" {
  value = upper(<<A
one
A
  )
}
