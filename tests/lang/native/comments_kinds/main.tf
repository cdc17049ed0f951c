# hash
// slashes
/* block */
output "a" { # after a brace
  value = 1 // after a value
  /* before */ description /* between */ = /* here */ "d" /* behind */
}
/* over
 several
 lines */ output "b" { value = 2 }
# the last line without a break