locals {
  a = 1
}
bé