locals {
  a = "x${ ÿ }y" 
  b = local.a
}
