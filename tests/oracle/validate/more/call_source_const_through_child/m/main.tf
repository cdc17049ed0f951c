variable "where" {
  const = true
}
module "n" {
  source = var.where
}
