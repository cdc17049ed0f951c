import {
  to = terraform_data.zz[count.index]
  id = "x"
}
import {
  to = terraform_data.a[count.index]
  id = "x"
}
resource "terraform_data" "a" {
  count = 1
}
