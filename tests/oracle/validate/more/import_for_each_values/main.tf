import {
  for_each = "1"
  to       = terraform_data.a[each.key]
  id       = each.key
}
import {
  for_each = ["a", "b"]
  to       = terraform_data.b[each.value]
  id       = local.none
}
import {
  for_each = ephemeral(toset(["a"]))
  to       = terraform_data.c[each.key]
  id       = each.key
}
import {
  for_each = sensitive(toset(["a"]))
  to       = terraform_data.d[each.key]
  id       = each.key
}
import {
  for_each = terraform_data.a
  to       = terraform_data.e[each.key]
  id       = local.none
}
resource "terraform_data" "a" {
  for_each = toset(["a"])
}
resource "terraform_data" "b" {
  for_each = toset(["a"])
}
resource "terraform_data" "c" {
  for_each = toset(["a"])
}
resource "terraform_data" "d" {
  for_each = toset(["a"])
}
resource "terraform_data" "e" {
  for_each = toset(["a"])
}
