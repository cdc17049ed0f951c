//! What the model answers about instances of its resource type.

use ashlar_value::{Type, Value, json, msgpack};
use prost::Message;

use super::{
    answers::{DENSE, LARGE, MANY_OBJECTS, Model, read, with},
    schema,
};
use crate::proto::tfplugin::{
    self as p, AttributePath, Deferred, Diagnostic, DynamicValue,
    attribute_path::{Step, step::Selector},
};

impl Model<'_> {
    pub(super) fn of_instance(
        &self,
        call: &str,
        request: &[u8],
        diagnostics: Vec<Diagnostic>,
    ) -> Option<Vec<u8>> {
        let ty = schema::thing();
        let text = |text: &str| Value::string(text);
        Some(match call {
            "UpgradeResourceState" => {
                let asked: p::upgrade_resource_state::Request = read(request);
                let stored = json::decode(&asked.raw_state.unwrap().json, &ty).unwrap();
                p::upgrade_resource_state::Response {
                    upgraded_state: self.encoded(&stored, &ty),
                    diagnostics,
                }
                .encode_to_vec()
            }
            "UpgradeResourceIdentity" => {
                let asked: p::upgrade_resource_identity::Request = read(request);
                let stored = json::decode(&asked.raw_identity.unwrap().json, &schema::identity()).unwrap();
                p::upgrade_resource_identity::Response {
                    upgraded_identity: self.identity(&stored.attr("name").unwrap()),
                    diagnostics,
                }
                .encode_to_vec()
            }
            "MoveResourceState" => {
                let asked: p::move_resource_state::Request = read(request);
                let stored = json::decode(&asked.source_state.unwrap().json, &ty).unwrap();
                p::move_resource_state::Response {
                    target_state: self.encoded(&stored, &ty),
                    diagnostics,
                    target_private: [&asked.source_private[..], b"-moved"].concat(),
                    target_identity: self.identity_of(&stored),
                }
                .encode_to_vec()
            }
            "ImportResourceState" => {
                let asked: p::import_resource_state::Request = read(request);
                let name = match asked.identity {
                    Some(named) => self
                        .decoded(named.identity_data, &schema::identity())
                        .attr("name")
                        .unwrap(),
                    None => text(&asked.id),
                };
                let state = with(&self.bare(), &[("id", text("imported")), ("name", name)]);
                let type_name = if self.fault == "foreign" {
                    "model_elsewhere".to_owned()
                } else {
                    asked.type_name
                };
                p::import_resource_state::Response {
                    imported_resources: vec![p::import_resource_state::ImportedResource {
                        type_name,
                        state: self.encoded(&state, &ty),
                        private: b"found".to_vec(),
                        identity: self.identity_of(&state),
                    }],
                    diagnostics,
                    deferred: None,
                }
                .encode_to_vec()
            }
            "GenerateResourceConfig" => {
                let asked: p::generate_resource_config::Request = read(request);
                let state = self.decoded(asked.state, &ty);
                let config = with(&state, &[("id", Value::null(Type::String))]);
                p::generate_resource_config::Response {
                    config: self.encoded(&config, &ty),
                    diagnostics,
                }
                .encode_to_vec()
            }
            "ReadResource" => {
                let asked: p::read_resource::Request = read(request);
                let mut state = self.decoded(asked.current_state, &ty);
                if self.fault == "large" {
                    state = with(&state, &[("secret", text(&"s".repeat(LARGE)))]);
                }
                p::read_resource::Response {
                    new_identity: self.identity_of(&state),
                    new_state: self.dense(&state, &ty).or_else(|| self.encoded(&state, &ty)),
                    diagnostics,
                    private: [&asked.private[..], b"-read"].concat(),
                    deferred: None,
                }
                .encode_to_vec()
            }
            "PlanResourceChange" => self.plan(&read(request), diagnostics).encode_to_vec(),
            "ApplyResourceChange" => {
                let asked: p::apply_resource_change::Request = read(request);
                let planned = self.decoded(asked.planned_state, &ty);
                let made = if planned.is_null() {
                    planned
                } else {
                    with(&planned, &[("id", text("made"))])
                };
                p::apply_resource_change::Response {
                    new_identity: self.identity_of(&made),
                    new_state: self.encoded(&made, &ty),
                    private: [&asked.planned_private[..], b"-made"].concat(),
                    diagnostics,
                    legacy_type_system: true,
                }
                .encode_to_vec()
            }
            _ => return None,
        })
    }

    /// The object with so many numbers in it that a byte or two stands for each, if that is what goes wrong.
    fn dense(&self, object: &Value, ty: &Type) -> Option<DynamicValue> {
        let one = Value::list(Type::Number, vec![Value::number(0)]);
        let object = with(object, &[("parts", one)]);
        let put = |encoded: Vec<u8>, found: &[u8], many: Vec<u8>| {
            let at = encoded.windows(found.len()).position(|part| part == found)?;
            let (before, after) = (&encoded[..at], &encoded[at + found.len()..]);
            Some([before, &many[..], after].concat())
        };
        let count = u32::try_from(DENSE).unwrap().to_be_bytes();
        match self.fault {
            "dense" => Some(DynamicValue {
                msgpack: put(
                    msgpack::encode(&object, ty).unwrap(),
                    b"\xa5parts\x91\x00",
                    [b"\xa5parts\xdd", &count[..], &vec![0; DENSE]].concat(),
                )?,
                json: Vec::new(),
            }),
            "dense-json" => Some(DynamicValue {
                msgpack: Vec::new(),
                json: put(
                    json::encode(&object, ty).unwrap(),
                    b"[0]",
                    [b"[", &b"0,".repeat(DENSE / 2)[..], b"0]"].concat(),
                )?,
            }),
            _ => None,
        }
    }

    /// Three things, and their objects if these are wanted; what is amiss comes first.
    pub(super) fn list(&self, request: &[u8]) -> Vec<Vec<u8>> {
        let asked: p::list_resource::Request = read(request);
        assert_eq!(asked.type_name, "model_thing");
        let config = self.decoded(asked.config, &schema::list());
        let prefix = config.attr("prefix").unwrap();
        let prefix = prefix.as_str().map_or("", |prefix| &**prefix);
        let diagnostics = self.remarks();
        let is_amiss = !diagnostics.is_empty() || self.fault == "nameless";
        let amiss = is_amiss.then(|| p::list_resource::Event {
            diagnostic: diagnostics,
            ..p::list_resource::Event::default()
        });
        let count = if self.fault == "plenty" { MANY_OBJECTS } else { 3 };
        let things = (1..=count).map(|at| {
            let name = Value::string(format!("{prefix}{at}"));
            let secret = if self.fault == "large" {
                "s".repeat(LARGE)
            } else {
                "hush".to_owned()
            };
            let object = with(
                &self.bare(),
                &[("name", name.clone()), ("secret", Value::string(secret))],
            );
            p::list_resource::Event {
                identity: self.identity(&name),
                display_name: format!("thing {at} with token-1"),
                resource_object: asked
                    .include_resource_object
                    .then(|| self.encoded(&object, &schema::thing()))
                    .flatten(),
                diagnostic: Vec::new(),
            }
        });
        amiss
            .into_iter()
            .chain(things)
            .map(|event| event.encode_to_vec())
            .collect()
    }

    fn bare(&self) -> Value {
        let ty = schema::thing();
        json::decode(
            b"{\"id\":null,\"name\":null,\"secret\":null,\"key_wo\":null,\"size\":null,\"tags\":null}",
            &ty,
        )
        .unwrap()
    }

    fn plan(
        &self,
        asked: &p::plan_resource_change::Request,
        diagnostics: Vec<Diagnostic>,
    ) -> p::plan_resource_change::Response {
        let ty = schema::thing();
        let capabilities = asked.client_capabilities.unwrap();
        assert!(capabilities.write_only_attributes_allowed);
        let proposed = self.decoded(asked.proposed_new_state.clone(), &ty);
        let planned = if proposed.is_null() {
            proposed
        } else {
            // What is write-only never comes back.
            with(&proposed, &[("key_wo", Value::null(Type::String))])
        };
        p::plan_resource_change::Response {
            planned_identity: self.identity_of(&planned),
            planned_state: self.encoded(&planned, &ty),
            requires_replace: vec![AttributePath {
                steps: vec![Step {
                    selector: Some(Selector::AttributeName("size".into())),
                }],
            }],
            planned_private: [&asked.prior_private[..], b"-planned"].concat(),
            diagnostics,
            legacy_type_system: true,
            deferred: capabilities.deferral_allowed.then_some(Deferred { reason: 3 }),
        }
    }
}
