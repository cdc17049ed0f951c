//! One change of an object or an output in Terraform's JSON form; holds secrets in clear.

use ashlar_addr::{InstanceKey, Resource, ResourceInstance};
use ashlar_value::{Value, schema::Schema};
use serde_json::{Map, Value as Json, json};

use super::{schema_of, tree};
use crate::{Change, Importing, OutputChange, Reason, Schemas, objchange::mark_sensitive};

/// A member of `resource_changes` or `resource_drift`. Without its schema all of the object counts as sensitive.
pub(super) fn resource_change(change: &Change, schemas: &Schemas) -> Json {
    let schema = schema_of(change, schemas);
    let mut out = Map::new();
    place(&change.address, &mut out);
    if let Some(previous) = &change.previous_address {
        out.insert("previous_address".to_owned(), previous.to_string().into());
    }
    let module = &change.address.resource.module;
    if !module.is_root() {
        out.insert("module_address".to_owned(), module.to_string().into());
    }
    out.insert(
        "provider_name".to_owned(),
        change.provider.provider.to_string().into(),
    );
    if let Some(key) = change.deposed {
        out.insert("deposed".to_owned(), key.to_string().into());
    }
    if let Some(reason) = change.reason {
        out.insert("action_reason".to_owned(), reason.as_str().into());
    }
    let mut inner = Map::new();
    inner.insert("actions".to_owned(), json!(change.action.words()));
    inner.insert(
        "before".to_owned(),
        tree::known(&change.before).unwrap_or(Json::Null),
    );
    after(&change.after, &mut inner);
    let after_unknown = if change.after.is_wholly_known() {
        json!({})
    } else {
        tree::unknown(&change.after)
    };
    inner.insert("after_unknown".to_owned(), after_unknown);
    inner.insert("before_sensitive".to_owned(), sensitive(schema, &change.before));
    inner.insert("after_sensitive".to_owned(), sensitive(schema, &change.after));
    if !change.replace_paths.is_empty() {
        let paths = change.replace_paths.iter().map(tree::path).collect();
        inner.insert("replace_paths".to_owned(), paths);
    }
    let importing = change.importing.as_ref().map(|importing| match importing {
        Importing::Id(id) => json!({ "id": tree::known(id) }),
        Importing::Identity(identity) => json!({ "identity": tree::known(identity) }),
    });
    if let Some(importing) = importing {
        inner.insert("importing".to_owned(), importing);
    }
    // Terraform plans what is tainted as if nothing had been there.
    let tainted = change.reason == Some(Reason::ReplaceBecauseTainted);
    let before = if tainted { &None } else { &change.before_identity };
    let identities = [
        ("before_identity", before),
        ("after_identity", &change.after_identity),
    ];
    for (name, identity) in identities {
        // One that is not known yet, or that there is none of, is left out.
        let identity = identity.as_ref().and_then(tree::known);
        if let Some(identity) = identity.filter(|identity| !identity.is_null()) {
            inner.insert(name.to_owned(), identity);
        }
    }
    out.insert("change".to_owned(), Json::Object(inner));
    Json::Object(out)
}

/// What tells an instance: address, mode, type, name, index.
pub(super) fn place(address: &ResourceInstance, out: &mut Map<String, Json>) {
    let Resource { mode, kind, name } = &address.resource.resource;
    out.insert("address".to_owned(), address.to_string().into());
    out.insert("mode".to_owned(), mode.as_str().into());
    out.insert("type".to_owned(), (**kind).into());
    out.insert("name".to_owned(), (**name).into());
    if let Some(key) = index(&address.key) {
        out.insert("index".to_owned(), key);
    }
}

pub(super) fn index(key: &InstanceKey) -> Option<Json> {
    match key {
        InstanceKey::None => None,
        InstanceKey::Int(at) => Some((*at).into()),
        InstanceKey::String(key) => Some((**key).into()),
    }
}

/// The sensitive tree of an object: by its marks and its schema.
pub(super) fn sensitive(schema: Option<&Schema>, value: &Value) -> Json {
    match schema {
        Some(schema) => tree::sensitive(&mark_sensitive(&schema.block, value.clone())),
        None => Json::Bool(!value.is_null()),
    }
}

/// Left out where nothing is known.
fn after(value: &Value, out: &mut Map<String, Json>) {
    if let Some(after) = tree::known(value) {
        out.insert("after".to_owned(), after);
    }
}

/// A member of `output_changes`. Terraform keeps one flag for both sides.
pub(super) fn output_change(change: &OutputChange) -> Json {
    let sensitive = change.sensitive.0 || change.sensitive.1;
    let mut out = Map::new();
    out.insert("actions".to_owned(), json!(change.action.words()));
    out.insert(
        "before".to_owned(),
        tree::known(&change.before).unwrap_or(Json::Null),
    );
    after(&change.after, &mut out);
    let after_unknown = if change.after.is_wholly_known() {
        Json::Bool(false)
    } else {
        tree::unknown(&change.after)
    };
    out.insert("after_unknown".to_owned(), after_unknown);
    out.insert("before_sensitive".to_owned(), sensitive.into());
    out.insert("after_sensitive".to_owned(), sensitive.into());
    Json::Object(out)
}
