//! Workspaces whose module uses the test provider `kiln`.

use ashlar_e2e::Namespace;
use serde_json::{Value, json};

/// What such a workspace is called.
pub(crate) const NAME: &str = "pots";

const PROVIDERS: &str = r#"
terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
"#;

/// A manifest of a workspace with this module, and further fields of its spec.
pub(crate) fn workspace(namespace: &Namespace, module: &str, spec: Value) -> String {
    let mut whole = json!({
        "source": {"inline": {"files": {"main.tf": format!("{PROVIDERS}{module}")}}},
        "env": [{"name": "KILN_DIR", "value": namespace.world.path()}],
        "retryInterval": "2s",
    });
    if let (Some(whole), Value::Object(spec)) = (whole.as_object_mut(), spec) {
        whole.extend(spec);
    }
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": NAME},
        "spec": whole,
    })
    .to_string()
}
