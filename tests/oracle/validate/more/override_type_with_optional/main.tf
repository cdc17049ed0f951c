variable "a" {
  default = {}
}
