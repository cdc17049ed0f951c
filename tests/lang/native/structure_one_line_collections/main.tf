output "a" { value = { x = [1,
  2], y = {
    z = 1
  } } }
