locals {
  größe = 1
  名前 = 2
}
output "v" {
  value = [local.größe, local.名前, { 鍵 = 1 }]
}
