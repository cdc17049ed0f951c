terraform {
  required_providers {
    kubernetes = { source = "hashicorp/kubernetes" }
  }
}

provider "kubernetes" {
  config_path = "@KUBECONFIG@"
}

resource "kubernetes_manifest" "kind" {
  manifest = {
    apiVersion = "apiextensions.k8s.io/v1"
    kind       = "CustomResourceDefinition"
    metadata   = { name = "widgets.example.test" }
    spec = {
      group = "example.test"
      scope = "Namespaced"
      names = { kind = "Widget", plural = "widgets", singular = "widget", listKind = "WidgetList" }
      versions = [{
        name    = "v1"
        served  = true
        storage = true
        schema = {
          openAPIV3Schema = {
            type = "object"
            properties = {
              spec = {
                type = "object"
                properties = {
                  size  = { type = "integer", default = 3 }
                  parts = { type = "array", items = { type = "string" } }
                }
              }
            }
          }
        }
      }]
    }
  }
}
