//! `terraform.io/builtin/terraform`, which lives in this process: `terraform_data`, `terraform_remote_state` and functions.
//!
//! It changes nothing outside, and takes chance and the states of others from its caller.
//! Source of the behaviour: Terraform 1.15.5 `internal/builtin/providers/terraform`.

mod adopt;
mod functions;
mod remote_state;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use ashlar_diag::Diags;
use ashlar_port::{
    Answer, Applied, ApplyRequest, Deferred, FunctionFault, ImportRequest, ImportedObject, MoveRequest,
    MovedObject, Opened, PlanRequest, Planned, Provider, ProviderDiag, Read, ReadDataRequest, ReadRequest,
    Renewed, States, Told, UpgradeRequest,
};
use ashlar_value::{
    Path, Type, Value, json, ops,
    schema::{Attribute, AttributeType, Block, IdentitySchema, Offered, ProviderSchema, Schema},
};
use async_trait::async_trait;

use crate::fault;

/// Gives a random UUID, lower case with dashes.
pub type Uuids = Arc<dyn Fn() -> String + Send + Sync>;

/// The provider inside the engine.
pub struct Builtin {
    uuids: Uuids,
    states: Arc<dyn States>,
}

impl Builtin {
    /// `uuids` gives the ids, `states` what other states hold.
    pub fn new(uuids: Uuids, states: Arc<dyn States>) -> Self {
        Self { uuids, states }
    }

    /// What it offers.
    pub fn provider_schema() -> Arc<ProviderSchema> {
        static SCHEMA: OnceLock<Arc<ProviderSchema>> = OnceLock::new();
        SCHEMA
            .get_or_init(|| {
                Arc::new(ProviderSchema {
                    resources: Offered::from([("terraform_data".into(), data_schema())]),
                    data_sources: Offered::from([("terraform_remote_state".into(), remote_state_schema())]),
                    functions: functions::signatures(),
                    move_resource_state: true,
                    ..ProviderSchema::default()
                })
            })
            .clone()
    }
}

fn attribute(ty: Type, set: impl FnOnce(&mut Attribute)) -> Attribute {
    let mut attribute = Attribute {
        ty: AttributeType::Plain(ty),
        required: false,
        optional: false,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: None,
    };
    set(&mut attribute);
    attribute
}

fn schema<const N: usize>(attributes: [(&str, Attribute); N]) -> Schema {
    let attributes = attributes
        .into_iter()
        .map(|(name, attribute)| (name.into(), attribute))
        .collect();
    Schema {
        block: Block {
            attributes,
            ..Block::default()
        },
        ..Schema::default()
    }
}

fn data_schema() -> Schema {
    let identity = IdentitySchema {
        version: 0,
        attributes: BTreeMap::from([("id".into(), (Type::String, true))]),
    };
    Schema {
        identity: Some(identity),
        ..schema([
            ("id", attribute(Type::String, |it| it.computed = true)),
            ("input", attribute(Type::Dynamic, |it| it.optional = true)),
            ("output", attribute(Type::Dynamic, |it| it.computed = true)),
            (
                "triggers_replace",
                attribute(Type::Dynamic, |it| it.optional = true),
            ),
        ])
    }
}

fn remote_state_schema() -> Schema {
    schema([
        ("backend", attribute(Type::String, |it| it.required = true)),
        ("config", attribute(Type::Dynamic, |it| it.optional = true)),
        ("defaults", attribute(Type::Dynamic, |it| it.optional = true)),
        ("outputs", attribute(Type::Dynamic, |it| it.computed = true)),
        ("workspace", attribute(Type::String, |it| it.optional = true)),
    ])
}

/// The complaint about a resource type that does not exist here.
fn unknown_kind(kind: &str) -> Option<ProviderDiag> {
    (kind != "terraform_data").then(|| error(format!("unknown resource type {kind:?}"), ""))
}

/// It has none.
fn unknown_action(kind: &str) -> ProviderDiag {
    error(format!("unknown action {kind:?}"), "")
}

/// The attribute of a `terraform_data` object; null where there is none.
fn get(object: &Value, name: &str) -> Value {
    object.attr(name).unwrap_or_else(|| Value::null(Type::Dynamic))
}

fn unknown_id() -> Value {
    ops::refine_not_null(Value::unknown(Type::String))
}

/// The planned state, and whether the instance must be replaced.
fn plan_data(prior: &Value, proposed: &Value) -> (Value, bool) {
    let Some(attributes) = proposed.as_entries() else {
        return (proposed.clone(), false);
    };
    let mut planned = attributes.clone();
    let input = get(proposed, "input");
    let replaced = !prior.is_null() && get(prior, "triggers_replace") != get(proposed, "triggers_replace");
    if prior.is_null() || replaced {
        // A null input is its own output at once: its type is known.
        let output = if input.is_null() {
            input
        } else {
            Value::unknown(input.ty())
        };
        planned.insert("id".into(), unknown_id());
        planned.insert("output".into(), output);
    } else if get(prior, "input") != input {
        planned.insert("output".into(), Value::unknown(input.ty()));
    }
    (Value::object_of(planned), replaced)
}

fn apply_data(planned: &Value, uuids: &dyn Fn() -> String) -> Value {
    let Some(attributes) = planned.as_entries() else {
        return planned.clone();
    };
    let mut state = attributes.clone();
    if !get(planned, "output").is_known() {
        state.insert("output".into(), get(planned, "input"));
    }
    if !get(planned, "id").is_known() {
        state.insert("id".into(), Value::string(uuids()));
    }
    Value::object_of(state)
}

#[async_trait]
impl Provider for Builtin {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags> {
        Ok(Self::provider_schema())
    }

    fn has_effects(&self) -> bool {
        false
    }

    async fn validate_provider(&self, _config: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn configure(&self, _config: &Value) -> Vec<ProviderDiag> {
        Vec::new()
    }

    async fn validate_resource(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        if let Some(diag) = unknown_kind(kind) {
            return vec![diag];
        }
        ["id", "output"]
            .into_iter()
            .filter(|name| !config.is_null() && !get(config, name).is_null())
            .map(|name| error(format!("{name:?} attribute is read-only"), ""))
            .collect()
    }

    async fn validate_data(&self, _kind: &str, config: &Value) -> Vec<ProviderDiag> {
        remote_state::validate(config)
    }

    async fn validate_ephemeral(&self, kind: &str, _config: &Value) -> Vec<ProviderDiag> {
        unknown_kind(kind).into_iter().collect()
    }

    async fn open_ephemeral(&self, kind: &str, _config: &Value) -> Answer<Opened> {
        Answer {
            value: Opened {
                result: None,
                private: Vec::new(),
                renew_at: None,
                deferred: None,
            },
            diags: unknown_kind(kind).into_iter().collect(),
        }
    }

    async fn renew_ephemeral(&self, kind: &str, _private: &[u8]) -> Answer<Renewed> {
        Answer {
            value: Renewed::default(),
            diags: unknown_kind(kind).into_iter().collect(),
        }
    }

    async fn close_ephemeral(&self, kind: &str, _private: &[u8]) -> Vec<ProviderDiag> {
        unknown_kind(kind).into_iter().collect()
    }

    async fn validate_action(&self, kind: &str, _config: &Value) -> Vec<ProviderDiag> {
        vec![unknown_action(kind)]
    }

    async fn plan_action(&self, kind: &str, _config: &Value) -> Answer<Option<Deferred>> {
        Answer {
            value: None,
            diags: vec![unknown_action(kind)],
        }
    }

    async fn invoke_action(&self, kind: &str, _config: &Value, _told: Told<'_>) -> Vec<ProviderDiag> {
        vec![unknown_action(kind)]
    }

    async fn upgrade_state(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        if let Some(diag) = unknown_kind(request.kind) {
            return Answer {
                value: None,
                diags: vec![diag],
            };
        }
        match json::decode(request.json, &data_schema().block.ty()) {
            Ok(value) => Answer::ok(Some(value)),
            Err(wrong) => {
                let detail = format!(
                    "What is stored of this terraform_data cannot be read: {}.",
                    wrong.message
                );
                Answer {
                    value: None,
                    diags: vec![ProviderDiag {
                        path: Some(wrong.path),
                        ..error("Invalid stored object", detail)
                    }],
                }
            }
        }
    }

    async fn upgrade_identity(&self, _request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        let detail =
            "The identity of terraform_data has had one form only, so there is nothing to upgrade from.";
        Answer {
            value: None,
            diags: vec![error("Identity cannot be upgraded", detail)],
        }
    }

    async fn move_state(&self, request: MoveRequest<'_>) -> Answer<MovedObject> {
        adopt::move_state(&request)
    }

    async fn import(&self, request: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
        adopt::import(&request)
    }

    async fn read(&self, request: ReadRequest<'_>) -> Answer<Read> {
        Answer {
            value: Read {
                state: Some(request.current.clone()),
                private: Vec::new(),
                identity: None,
                deferred: None,
            },
            diags: unknown_kind(request.kind).into_iter().collect(),
        }
    }

    async fn plan(&self, request: PlanRequest<'_>) -> Answer<Planned> {
        let (state, replaced) = plan_data(request.prior, request.proposed);
        Answer {
            value: Planned {
                state: Some(state),
                requires_replace: if replaced {
                    vec![Path::root().attr("triggers_replace")]
                } else {
                    Vec::new()
                },
                private: Vec::new(),
                identity: None,
                legacy_type_system: false,
                deferred: None,
            },
            diags: unknown_kind(request.kind).into_iter().collect(),
        }
    }

    async fn apply(&self, request: ApplyRequest<'_>) -> Answer<Applied> {
        Answer {
            value: Applied {
                state: Some(apply_data(request.planned, &*self.uuids)),
                private: Vec::new(),
                identity: None,
                legacy_type_system: false,
            },
            diags: unknown_kind(request.kind).into_iter().collect(),
        }
    }

    async fn read_data(&self, request: ReadDataRequest<'_>) -> Answer<(Option<Value>, Option<Deferred>)> {
        remote_state::read(request.config, &*self.states).await
    }

    async fn call_function(&self, name: &str, args: &[Value]) -> Result<Value, FunctionFault> {
        functions::call(name, args)
    }

    async fn stop(&self) {}

    async fn close(&self) {}
}

/// An error about the configuration or state that was given.
fn error(summary: impl Into<String>, detail: impl Into<String>) -> ProviderDiag {
    ProviderDiag {
        fault: None,
        ..fault::error(summary, detail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "00000000-0000-4000-8000-000000000001";

    fn object(id: Value, input: Value, output: Value, triggers: Value) -> Value {
        Value::object([
            ("id", id),
            ("input", input),
            ("output", output),
            ("triggers_replace", triggers),
        ])
    }

    fn null() -> Value {
        Value::null(Type::Dynamic)
    }

    /// Plans and applies; gives both.
    fn check(prior: &Value, proposed: &Value, planned: &Value, replaced: bool) -> Value {
        let got = plan_data(prior, proposed);
        assert!(got.0 == *planned && got.1 == replaced, "planned otherwise");
        apply_data(planned, &|| ID.to_owned())
    }

    #[test]
    fn life() {
        let gone = Value::null(data_schema().block.ty());
        let (a, b, one) = (Value::string("a"), Value::string("b"), Value::string("1"));
        let id = Value::string(ID);
        let no_id = Value::null(Type::String);
        // Create.
        let proposed = object(no_id.clone(), a.clone(), null(), null());
        let planned = object(unknown_id(), a.clone(), Value::unknown(Type::String), null());
        let made = check(&gone, &proposed, &planned, false);
        assert!(made == object(id.clone(), a.clone(), a.clone(), null()));
        // Nothing to do.
        assert!(check(&made, &made, &made, false) == made);
        // Another input.
        let proposed = object(id.clone(), b.clone(), a.clone(), null());
        let planned = object(id.clone(), b.clone(), Value::unknown(Type::String), null());
        let changed = check(&made, &proposed, &planned, false);
        assert!(changed == object(id.clone(), b.clone(), b.clone(), null()));
        // Another trigger.
        let proposed = object(id.clone(), b.clone(), b.clone(), one.clone());
        let planned = object(unknown_id(), b.clone(), Value::unknown(Type::String), one.clone());
        check(&changed, &proposed, &planned, true);
        // A trigger of equal text but another type is another trigger.
        let number = Value::number(1_i64);
        let with = |trigger: Value| object(id.clone(), null(), null(), trigger);
        assert!(plan_data(&with(one), &with(number)).1);
        // Without input.
        let proposed = object(no_id, null(), null(), null());
        let planned = object(unknown_id(), null(), null(), null());
        check(&gone, &proposed, &planned, false);
        // Delete.
        assert!(plan_data(&made, &gone) == (gone.clone(), false));
        assert!(apply_data(&gone, &|| ID.to_owned()) == gone);
    }
}
