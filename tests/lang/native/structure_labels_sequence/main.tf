output "a${1}" {
  value = 1
}
