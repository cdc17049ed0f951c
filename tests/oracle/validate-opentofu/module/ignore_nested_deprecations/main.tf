module "m" {
  source                     = "./m"
  ignore_nested_deprecations = true
}
