terraform {
  state_store "kiln_store" {
    provider "kiln" {}
  }
}
