terraform {
  encryption {
    other = 1
    key_provider "a" {}
    method "a" "b" "c" {}
    wat {}
    state { enforced = "x" }
    state {}
  }
}
