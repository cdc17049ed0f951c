//! The shape of the state file, version 4, as serde sees it.
//!
//! Only here do the file's field names and their order stand. Nothing of the model derives serde.
//! Source: Terraform `internal/states/statefile/version4.go`.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// JSON kept as text.
pub(crate) struct Raw<'a>(pub(crate) Cow<'a, RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&'de RawValue>::deserialize(from).map(|raw| Raw(Cow::Borrowed(raw)))
    }
}

impl Serialize for Raw<'_> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl<'a> Raw<'a> {
    /// The text.
    pub(crate) fn text(&self) -> &str {
        self.0.get()
    }

    /// Bytes that should be JSON.
    pub(crate) fn borrowed(json: &'a [u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(json)
    }

    /// Bytes that should be JSON, to be kept.
    pub(crate) fn owned(json: Vec<u8>) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<&RawValue>(&json).map(|raw| Raw(Cow::Owned(raw.to_owned())))
    }
}

/// Read before all else: which format is it?
#[derive(Deserialize)]
pub(crate) struct Sniff<'a> {
    #[serde(borrow, default)]
    pub(crate) version: Option<Raw<'a>>,
    #[serde(borrow, default)]
    pub(crate) terraform_version: Option<Raw<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct File<'a> {
    pub(crate) version: u64,
    #[serde(borrow, default)]
    pub(crate) terraform_version: Cow<'a, str>,
    #[serde(default)]
    pub(crate) serial: u64,
    #[serde(borrow, default)]
    pub(crate) lineage: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(crate) outputs: Option<BTreeMap<Cow<'a, str>, Output<'a>>>,
    #[serde(borrow, default)]
    pub(crate) resources: Option<Vec<Resource<'a>>>,
    #[serde(default)]
    pub(crate) check_results: Option<Vec<CheckResult>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Output<'a> {
    #[serde(borrow)]
    pub(crate) value: Raw<'a>,
    #[serde(rename = "type", borrow)]
    pub(crate) ty: Raw<'a>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) sensitive: bool,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Resource<'a> {
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub(crate) module: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) mode: Cow<'a, str>,
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    /// Empty where each instance has its own. (OpenTofu)
    #[serde(borrow, default, skip_serializing_if = "str::is_empty")]
    pub(crate) provider: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) instances: Vec<Instance<'a>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct Instance<'a> {
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) index_key: Option<Raw<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) deposed: Option<Cow<'a, str>>,
    /// OpenTofu's, where provider configurations are repeated.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) provider: Option<Cow<'a, str>>,
    #[serde(default)]
    pub(crate) schema_version: u64,
    #[serde(borrow, default)]
    pub(crate) attributes: Option<Raw<'a>>,
    /// Written by Terraform before 0.12; only ever read.
    #[serde(default, skip_serializing)]
    pub(crate) attributes_flat: Option<serde::de::IgnoredAny>,
    #[serde(borrow, default)]
    pub(crate) sensitive_attributes: Option<Vec<Vec<Step<'a>>>>,
    #[serde(default)]
    pub(crate) identity_schema_version: u64,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) identity: Option<Raw<'a>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) private: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub(crate) dependencies: Option<Vec<Cow<'a, str>>>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) create_before_destroy: bool,
    /// Written by OpenTofu.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) skip_destroy: bool,
}

/// One step of a path into the attributes.
#[derive(Serialize, Deserialize)]
pub(crate) struct Step<'a> {
    #[serde(rename = "type", borrow)]
    pub(crate) kind: Cow<'a, str>,
    #[serde(borrow)]
    pub(crate) value: Raw<'a>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CheckResult {
    pub(crate) object_kind: String,
    pub(crate) config_addr: String,
    pub(crate) status: String,
    #[serde(default)]
    pub(crate) objects: Option<Vec<CheckedObject>>,
}

#[derive(Serialize, Deserialize)]
pub(crate) struct CheckedObject {
    pub(crate) object_addr: String,
    pub(crate) status: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) failure_messages: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
