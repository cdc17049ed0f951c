locals = {
  a = 1
}
