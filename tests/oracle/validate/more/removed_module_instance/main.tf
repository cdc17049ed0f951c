removed {
  from = module.m["a"].terraform_data.a
}
