//! Where the root module's files come from.

use std::collections::BTreeMap;

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// The root module: exactly one of its fields is given.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.inline) != has(self.configMapRef)").message("give exactly one of inline and configMapRef"))]
pub struct Source {
    /// The files themselves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inline: Option<Inline>,
    /// A ConfigMap of this namespace that holds the files, one a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_ref: Option<ConfigMapRef>,
}

/// Files in the object itself.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("self.files.all(name, name.matches('^[A-Za-z0-9_-][A-Za-z0-9_.-]*(/[A-Za-z0-9_-][A-Za-z0-9_.-]*)*$'))").message("names of files are relative paths of letters, digits, '.', '_' and '-'; no part begins with a dot"))]
pub struct Inline {
    /// Text by file name. Files ending in .tf or .tf.json beside the root form the root module; others can be read by
    /// functions such as file() and templatefile().
    #[schemars(extend("minProperties" = 1, "maxProperties" = 64))]
    pub files: BTreeMap<String, FileText>,
}

/// The text of one file.
#[derive(Clone, Debug, Default, Deserialize, Serialize, PartialEq, schemars::JsonSchema)]
#[serde(transparent)]
pub struct FileText(#[schemars(length(max = 262_144))] pub String);

/// Names a ConfigMap in the workspace's namespace.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct ConfigMapRef {
    /// Name of the ConfigMap. Each of its keys is a file name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}
