output "v" {
  value = [true || false && false, !true || true, !(true || true), true && !false, "true" || false, 1 == 1 && 2 == 2 || false]
}
