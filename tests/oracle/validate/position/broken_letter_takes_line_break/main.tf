locals {
  aé¸
 = 1
}
