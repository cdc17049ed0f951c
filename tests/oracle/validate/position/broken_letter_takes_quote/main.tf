locals {
  a = x≈"
}
