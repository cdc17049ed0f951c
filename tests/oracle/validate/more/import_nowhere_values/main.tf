import {
  to = terraform_data.a
  id = ""
}
import {
  to = terraform_data.b
  id = local.none
}
import {
  to = terraform_data.d
  id = terraform_data.d.id
}
import {
  to = terraform_data.c
  id = null
}
output "o" {
  value = local.none
}
