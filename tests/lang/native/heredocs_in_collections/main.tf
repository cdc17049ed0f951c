output "v" {
  value = [<<A
one
A
    , <<B
two
B
  ]
}
output "w" {
  value = {
    a = <<A
one
A
    b = 2
  }
}
