variable "a" {
  type = object({ c = optional(string) })
}
