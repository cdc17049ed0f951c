output "v" {
  value = [true ? 1 : 2, false ? 1 : true ? 2 : 3, true ? false ? 1 : 2 : 3, 1 < 2 || false ? "y" : "n", true ? null : 1, (true ? 1 : 2) + 1, true ? 1 : 2 + 1]
}
