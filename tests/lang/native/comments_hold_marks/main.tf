output "a" {
  value = [ # ] "
    1, // } ${x}
    2, /* , 3, # */ 4
  ]
}
output "b" {
  value = "# no // comment /* here */"
}
