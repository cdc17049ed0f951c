moved {
  from = self.a
  to   = terraform_data.a
}
moved {
  from = module
  to   = module.b
}
moved {
  from = terraform_data.a[true]
  to   = terraform_data.b
}
