//! How `terraform_data` takes over objects: those of `null_resource` by a move, any id by an import.
//!
//! Source: Terraform 1.15.5 `internal/builtin/providers/terraform/resource_data.go`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_port::{
    Answer, Deferred, ImportRequest, Imported, ImportedObject, MoveRequest, MovedObject, ProviderDiag,
};
use ashlar_value::{Data, Type, Value, json};

use super::{error, unknown_kind};

/// What a `null_resource` becomes: its triggers force a replacement as before.
pub(super) fn move_state(asked: &MoveRequest<'_>) -> Answer<MovedObject> {
    let fail = |summary: &'static str, detail: String| Answer {
        value: MovedObject::default(),
        diags: vec![error(summary, detail)],
    };
    if let Some(diag) = unknown_kind(asked.kind) {
        return Answer {
            value: MovedObject::default(),
            diags: vec![diag],
        };
    }
    // Mirrors and forks keep the name under other hosts.
    let wrong = if !asked.source_provider.ends_with("/hashicorp/null") {
        Some("Unsupported source provider for move operation")
    } else if asked.source_kind != "null_resource" {
        Some("Unsupported source resource type for move operation")
    } else {
        None
    };
    if let Some(summary) = wrong {
        let detail = format!(
            "A terraform_data takes over objects of null_resource of hashicorp/null only, not of {} of {}.",
            asked.source_kind, asked.source_provider
        );
        return fail(summary, detail);
    }
    let ty = Type::object([
        (Arc::from("id"), Type::String),
        (Arc::from("triggers"), Type::map(Type::String)),
    ]);
    let value = match json::decode(asked.json, &ty) {
        Ok(value) => value,
        Err(wrong) => {
            let detail = format!(
                "What is stored of the null_resource cannot be read: {}.",
                wrong.message
            );
            return fail("Invalid stored object", detail);
        }
    };
    let Data::Object(parts) = value.data() else {
        return fail(
            "Invalid stored object",
            "What is stored of the null_resource is null.".to_owned(),
        );
    };
    let id = parts
        .get("id")
        .cloned()
        .unwrap_or_else(|| Value::null(Type::String));
    // Triggers are written as an object, so that is what they are compared with.
    let triggers = match parts.get("triggers").map(Value::data) {
        Some(Data::Map(_, entries)) => Value::object(
            entries
                .iter()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect::<Vec<_>>(),
        ),
        _ => Value::null(Type::Dynamic),
    };
    Answer::ok(MovedObject {
        state: Some(object(id, triggers)),
        private: Vec::new(),
        identity: None,
    })
}

/// An object of which nothing but its id is known.
pub(super) fn import(asked: &ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
    let refuse = |diag: ProviderDiag| Answer {
        value: (Vec::new(), None),
        diags: vec![diag],
    };
    if let Some(diag) = unknown_kind(asked.kind) {
        return refuse(diag);
    }
    let id = match asked.of {
        Imported::Id(id) => Value::string(id),
        Imported::Identity(identity) => match identity.data() {
            Data::Object(parts) => parts.get("id").cloned().unwrap_or_else(Value::dynamic),
            _ => {
                return refuse(error(
                    "Invalid identity",
                    "The identity of a terraform_data is its id.",
                ));
            }
        },
    };
    let found = ImportedObject {
        kind: asked.kind.to_owned(),
        state: Some(object(id, Value::null(Type::Dynamic))),
        private: Vec::new(),
        identity: None,
    };
    Answer::ok((vec![found], None))
}

fn object(id: Value, triggers_replace: Value) -> Value {
    let null = || Value::null(Type::Dynamic);
    let parts: BTreeMap<Arc<str>, Value> = [
        ("id", id),
        ("input", null()),
        ("output", null()),
        ("triggers_replace", triggers_replace),
    ]
    .map(|(name, value)| (Arc::from(name), value))
    .into();
    Value::object(parts.into_iter().collect::<Vec<_>>())
}
