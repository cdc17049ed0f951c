//! Values for the root module's variables and for the environment of its providers.

use kube::KubeSchema;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// A value for one variable: exactly one of `value`, `hcl` and `valueFrom` is given.
#[derive(KubeSchema, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// Name of a variable that the root module declares.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[\p{L}_][\p{L}\p{N}_-]*$"))]
    pub name: String,
    /// The value as JSON (or YAML) of any type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_json")]
    pub value: Option<serde_json::Value>,
    /// The value as an expression of the Terraform language without references, for what JSON cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 65536))]
    pub hcl: Option<String>,
    /// The value is text kept elsewhere. Text is read by the variable's type, as values on a command line are. A value
    /// from a Secret is sensitive even if the variable is not declared so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueSource>,
    /// Treat the value as sensitive even if the variable is not declared so.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sensitive: bool,
}

/// Shows no value: it may be sensitive.
impl std::fmt::Debug for Variable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Variable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

fn any_json(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "x-kubernetes-preserve-unknown-fields": true })
}

/// Where a value is kept: exactly one of its fields is given.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.secretKeyRef) != has(self.configMapKeyRef)").message("give exactly one of secretKeyRef and configMapKeyRef"))]
pub struct ValueSource {
    /// A key of a Secret in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_key_ref: Option<KeyRef>,
    /// A key of a ConfigMap in this namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_map_key_ref: Option<KeyRef>,
}

/// One key of an object.
#[derive(KubeSchema, Clone, Debug, Default, Deserialize, Serialize, PartialEq)]
pub struct KeyRef {
    /// Name of the object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key in its data.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Go on without a value when the object or the key is absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Values for many variables from one object. Names that the root module does not declare are ignored.
#[derive(KubeSchema, Clone, Debug, Deserialize, Serialize, PartialEq)]
#[x_kube(validation = Rule::new("self.format == 'Keys' || has(self.key)").message("key is required when format is TFVars or JSON"))]
pub struct VariablesFrom {
    /// Kind of the object.
    pub kind: InputKind,
    /// Name of the object, in this namespace.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key that holds the values; under format Keys, the only key to take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub key: Option<String>,
    /// How values are written.
    #[serde(default)]
    pub format: Format,
    /// Go on when the object or the key is absent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

/// Kinds that hold values.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, PartialEq, Eq, PartialOrd, Ord, Hash, JsonSchema)]
pub enum InputKind {
    /// A Secret: its values are sensitive.
    Secret,
    /// A ConfigMap.
    ConfigMap,
}

impl InputKind {
    /// As Kubernetes names it.
    pub fn as_str(self) -> &'static str {
        match self {
            InputKind::Secret => "Secret",
            InputKind::ConfigMap => "ConfigMap",
        }
    }
}

/// How an object holds values of variables.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, PartialEq, Eq, JsonSchema)]
pub enum Format {
    /// Each key is the name of a variable.
    #[default]
    Keys,
    /// One key holds a file as terraform.tfvars.
    TFVars,
    /// One key holds a JSON object with a member for each variable.
    JSON,
}

/// A variable in the environment of the provider processes: exactly one of `value` and `valueFrom` is given.
#[derive(KubeSchema, Clone, Default, Deserialize, Serialize, PartialEq)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.value) != has(self.valueFrom)").message("give exactly one of value and valueFrom"))]
pub struct EnvVariable {
    /// Its name.
    #[schemars(length(min = 1, max = 253), regex(pattern = r"^[A-Za-z_][A-Za-z0-9_]*$"))]
    pub name: String,
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32768))]
    pub value: Option<String>,
    /// Its value is kept elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ValueSource>,
}

/// Shows no value: it may be a credential.
impl std::fmt::Debug for EnvVariable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EnvVariable")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
