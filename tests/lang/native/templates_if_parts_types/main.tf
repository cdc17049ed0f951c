output "v" {
  value = ["%{ if true }${1}%{ else }${true}%{ endif }", "%{ if true }${1}%{ endif }"]
}
