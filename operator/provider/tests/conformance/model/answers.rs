//! What the model answers: mostly what it was told, so that both ways of a value are seen.

use ashlar_value::{Type, Value, json, msgpack};
use prost::Message;

use super::{Script, schema};
use crate::proto::tfplugin::{
    self as p, AttributePath, Diagnostic, DynamicValue, ResourceIdentityData, Timestamp,
    attribute_path::{Step, step::Selector},
    invoke_action::{
        Event,
        event::{Completed, Progress, Type as EventType},
    },
};

/// How many objects are listed where many are, whatever the limit says.
pub(crate) const MANY_OBJECTS: usize = 3_000;
/// How much text the state has that is called large.
pub(crate) const LARGE: usize = 100 << 20;
/// How many bytes of numbers a state has that is made to fill the memory.
pub(crate) const DENSE: usize = 100 << 20;
/// How many remarks a plugin makes that has many.
pub(crate) const MANY: usize = 50_000;
/// How many remarks, or steps in the path of one, a plugin sends that means harm.
const CROWD: usize = 150_000;

/// The messages of the answer to `call`; `None` if there is no such call.
pub(super) fn all(script: &Script, call: &str, request: &[u8]) -> Option<Vec<Vec<u8>>> {
    let model = Model {
        fault: script.fault(call),
    };
    Some(match call {
        "GetProviderSchema" => vec![schema::whole(script)],
        "GetResourceIdentitySchemas" => vec![schema::identities()],
        "InvokeAction" => model.invoke(request),
        "ListResource" => model.list(request),
        _ => vec![model.one(call, request)?],
    })
}

pub(super) struct Model<'a> {
    pub(super) fault: &'a str,
}

pub(super) fn read<M: Message + Default>(request: &[u8]) -> M {
    M::decode(request).unwrap()
}

/// The object with other attributes.
pub(super) fn with(object: &Value, given: &[(&str, Value)]) -> Value {
    let kept = object.as_entries().unwrap().iter();
    let kept = kept.map(|(name, value)| (name.to_string(), value.clone()));
    let given = given
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    Value::object(kept.chain(given).collect::<Vec<_>>())
}

impl Model<'_> {
    pub(super) fn encoded(&self, value: &Value, ty: &Type) -> Option<DynamicValue> {
        Some(match self.fault {
            "nonsense" => DynamicValue {
                msgpack: vec![0xc1, 0xff, 0xff],
                json: Vec::new(),
            },
            "json" => DynamicValue {
                msgpack: Vec::new(),
                json: json::encode(value, ty).unwrap(),
            },
            _ => DynamicValue {
                msgpack: msgpack::encode(value, ty).unwrap(),
                json: Vec::new(),
            },
        })
    }

    pub(super) fn decoded(&self, sent: Option<DynamicValue>, ty: &Type) -> Value {
        msgpack::decode(&sent.unwrap().msgpack, ty).unwrap()
    }

    pub(super) fn identity(&self, name: &Value) -> Option<ResourceIdentityData> {
        Some(ResourceIdentityData {
            identity_data: self.encoded(&Value::object([("name", name.clone())]), &schema::identity()),
        })
    }

    pub(super) fn identity_of(&self, state: &Value) -> Option<ResourceIdentityData> {
        (!state.is_null()).then(|| self.identity(&state.attr("name").unwrap()))?
    }

    pub(super) fn remarks(&self) -> Vec<Diagnostic> {
        let step = |selector| Step {
            selector: Some(selector),
        };
        let remark = |severity: i32, steps: Vec<Step>| Diagnostic {
            severity,
            summary: "A remark".to_owned(),
            detail: "It says more.".to_owned(),
            attribute: (!steps.is_empty()).then_some(AttributePath { steps }),
        };
        match self.fault {
            "remarks" => vec![
                remark(2, vec![step(Selector::AttributeName("name".into()))]),
                remark(
                    1,
                    vec![
                        step(Selector::AttributeName("tags".into())),
                        step(Selector::ElementKeyString("a key".into())),
                    ],
                ),
                remark(
                    1,
                    vec![
                        step(Selector::AttributeName("list".into())),
                        step(Selector::ElementKeyInt(3)),
                        Step { selector: None },
                    ],
                ),
                remark(0, Vec::new()),
            ],
            "many" => vec![Diagnostic::default(); MANY],
            "crowd" => vec![Diagnostic::default(); CROWD],
            "steps" => vec![remark(1, vec![Step::default(); CROWD])],
            _ => Vec::new(),
        }
    }

    fn one(&self, call: &str, request: &[u8]) -> Option<Vec<u8>> {
        let diagnostics = self.remarks();
        let text = |text: &str| Value::string(text);
        Some(match call {
            "ValidateProviderConfig" => p::validate_provider_config::Response { diagnostics }.encode_to_vec(),
            "ConfigureProvider" => {
                let asked: p::configure_provider::Request = read(request);
                assert_eq!(asked.terraform_version, "1.15.5");
                p::configure_provider::Response { diagnostics }.encode_to_vec()
            }
            "ValidateResourceConfig" => {
                let asked: p::validate_resource_config::Request = read(request);
                assert!(asked.client_capabilities.unwrap().write_only_attributes_allowed);
                p::validate_resource_config::Response { diagnostics }.encode_to_vec()
            }
            "ValidateDataResourceConfig" => {
                p::validate_data_resource_config::Response { diagnostics }.encode_to_vec()
            }
            "ValidateEphemeralResourceConfig" => {
                p::validate_ephemeral_resource_config::Response { diagnostics }.encode_to_vec()
            }
            "ValidateListResourceConfig" => {
                p::validate_list_resource_config::Response { diagnostics }.encode_to_vec()
            }
            "ValidateActionConfig" => p::validate_action_config::Response { diagnostics }.encode_to_vec(),
            "ReadDataSource" => {
                let asked: p::read_data_source::Request = read(request);
                let config = self.decoded(asked.config, &schema::data());
                let state = with(&config, &[("found", config.attr("name").unwrap())]);
                p::read_data_source::Response {
                    state: self.encoded(&state, &schema::data()),
                    diagnostics,
                    deferred: None,
                }
                .encode_to_vec()
            }
            "OpenEphemeralResource" => {
                let asked: p::open_ephemeral_resource::Request = read(request);
                let config = self.decoded(asked.config, &schema::key());
                let result = with(&config, &[("token", text("opened"))]);
                p::open_ephemeral_resource::Response {
                    diagnostics,
                    renew_at: Some(Timestamp {
                        seconds: 4_000_000_000,
                        nanos: 0,
                    }),
                    result: self.encoded(&result, &schema::key()),
                    private: Some(b"open".to_vec()),
                    deferred: None,
                }
                .encode_to_vec()
            }
            "RenewEphemeralResource" => {
                let asked: p::renew_ephemeral_resource::Request = read(request);
                p::renew_ephemeral_resource::Response {
                    diagnostics,
                    renew_at: None,
                    private: Some([&asked.private.unwrap()[..], b"-renewed"].concat()),
                }
                .encode_to_vec()
            }
            "CloseEphemeralResource" => p::close_ephemeral_resource::Response { diagnostics }.encode_to_vec(),
            "PlanAction" => p::plan_action::Response {
                diagnostics,
                deferred: None,
            }
            .encode_to_vec(),
            "CallFunction" => {
                let mut asked: p::call_function::Request = read(request);
                let given = self.decoded(asked.arguments.pop(), &Type::String);
                p::call_function::Response {
                    result: self.encoded(&given, &Type::String),
                    error: None,
                }
                .encode_to_vec()
            }
            "StopProvider" => p::stop_provider::Response::default().encode_to_vec(),
            _ => return self.of_instance(call, request, diagnostics),
        })
    }

    fn invoke(&self, request: &[u8]) -> Vec<Vec<u8>> {
        let asked: p::invoke_action::Request = read(request);
        assert_eq!(asked.action_type, "model_fire");
        let progress = |at: usize| {
            EventType::Progress(Progress {
                message: format!("stage {at} with token-1"),
            })
        };
        let count = if self.fault == "many" { 15_000 } else { 2 };
        let mut events: Vec<EventType> = (1..=count).map(progress).collect();
        if self.fault != "unfinished" {
            events.push(EventType::Completed(Completed {
                diagnostics: self.remarks(),
            }));
        }
        let message = |event| Event { r#type: Some(event) }.encode_to_vec();
        events.into_iter().map(message).collect()
    }
}
