output "a" {
  value = 1 /* outer /* inner */ + 2
}
