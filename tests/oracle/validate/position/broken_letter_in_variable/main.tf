variable "aébc" {}
