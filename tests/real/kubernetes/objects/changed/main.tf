terraform {
  required_providers {
    kubernetes = { source = "hashicorp/kubernetes" }
  }
}

provider "kubernetes" {
  config_path = "@KUBECONFIG@"
}

resource "kubernetes_namespace_v1" "here" {
  metadata {
    name   = "@SIDE@"
    labels = { made-by = "change" }
  }
}

resource "kubernetes_config_map_v1" "settings" {
  for_each = { web = "81", worker = "9090" }

  metadata {
    name      = "settings-${each.key}"
    namespace = kubernetes_namespace_v1.here.metadata[0].name
  }

  data = { port = each.value, name = each.key }
}

resource "kubernetes_secret_v1" "token" {
  metadata {
    name      = "token"
    namespace = kubernetes_namespace_v1.here.metadata[0].name
  }

  data = { token = "another" }
}

resource "kubernetes_deployment_v1" "web" {
  wait_for_rollout = false

  metadata {
    name      = "web"
    namespace = kubernetes_namespace_v1.here.metadata[0].name
  }

  spec {
    replicas = 2

    selector {
      match_labels = { app = "web" }
    }

    template {
      metadata {
        labels = { app = "web" }
      }

      spec {
        container {
          name  = "web"
          image = "registry.test/web:2"

          env_from {
            config_map_ref {
              name = kubernetes_config_map_v1.settings["web"].metadata[0].name
            }
          }
        }
      }
    }
  }
}

resource "kubernetes_service_account_v1" "runner" {
  metadata {
    name      = "runner"
    namespace = kubernetes_namespace_v1.here.metadata[0].name
  }
}

resource "kubernetes_manifest" "quota" {
  manifest = {
    apiVersion = "v1"
    kind       = "ResourceQuota"
    metadata = {
      name      = "quota-@SIDE@"
      namespace = "default"
      labels    = { side = "@SIDE@" }
    }
    spec = { hard = { pods = "20" } }
  }
}

# Its kind is there before: a plan asks the server for it.
resource "kubernetes_manifest" "widget" {
  manifest = {
    apiVersion = "example.test/v1"
    kind       = "Widget"
    metadata   = { name = "first", namespace = kubernetes_namespace_v1.here.metadata[0].name }
    spec       = { parts = ["one", "three"] }
  }
}

output "uid" {
  value = kubernetes_namespace_v1.here.metadata[0].uid
}
