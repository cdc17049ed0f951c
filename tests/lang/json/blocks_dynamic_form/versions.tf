terraform {
  required_providers {
    kiln   = { source = "forge.test/studio/kiln" }
    kilnv5 = { source = "forge.test/studio/kilnv5" }
  }
}
