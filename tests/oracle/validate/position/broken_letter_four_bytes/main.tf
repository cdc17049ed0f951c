locals {
  að¡bc = 1
}
