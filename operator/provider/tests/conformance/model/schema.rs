//! What the model offers: one of each kind, and one that is not used here (a state store).

use ashlar_value::{Type, json};
use prost::Message;

use super::Script;
use crate::proto::{tfplugin, tfplugin5, tfplugin6};

/// How many remarks are told with a schema that means harm.
const CROWD_OF_SCHEMA: usize = 2_100_000;

/// Name, type and what may be done with it: `r`equired, `o`ptional, `c`omputed, `s`ensitive, `w`rite-only.
type Attributes = &'static [(&'static str, &'static str, &'static str)];

const PROVIDER: Attributes = &[("region", r#""string""#, "o"), ("token", r#""string""#, "os")];
const META: Attributes = &[("module", r#""string""#, "o")];
const THING: Attributes = &[
    ("id", r#""string""#, "c"),
    ("name", r#""string""#, "o"),
    ("secret", r#""string""#, "os"),
    ("key_wo", r#""string""#, "ow"),
    ("size", r#""number""#, "o"),
    ("tags", r#"["map","string"]"#, "o"),
    ("parts", r#"["list","number"]"#, "o"),
];
const DATA: Attributes = &[("name", r#""string""#, "r"), ("found", r#""string""#, "c")];
const KEY: Attributes = &[("name", r#""string""#, "r"), ("token", r#""string""#, "cs")];
const FIRE: Attributes = &[("target", r#""string""#, "r")];
const LIST: Attributes = &[("prefix", r#""string""#, "o")];
const IDENTITY: Attributes = &[("name", r#""string""#, "r")];

fn object(attributes: Attributes) -> Type {
    let of = attributes
        .iter()
        .map(|(name, ty, _)| format!("{name:?}:{ty}"))
        .collect::<Vec<_>>()
        .join(",");
    json::type_from_text(format!(r#"["object",{{{of}}}]"#).as_bytes()).unwrap()
}

pub(super) fn thing() -> Type {
    object(THING)
}

pub(super) fn data() -> Type {
    object(DATA)
}

pub(super) fn key() -> Type {
    object(KEY)
}

pub(super) fn list() -> Type {
    object(LIST)
}

pub(super) fn identity() -> Type {
    object(IDENTITY)
}

macro_rules! response {
    ($name:ident, $of:ident) => {
        fn $name(script: &Script) -> Vec<u8> {
            use $of::{ActionSchema, Schema, SchemaResponse, schema};
            let schema = |version: i64, attributes: Attributes| {
                let attributes = attributes
                    .iter()
                    .map(|(name, ty, flags)| schema::Attribute {
                        name: (*name).to_owned(),
                        r#type: ty.as_bytes().to_vec(),
                        required: flags.contains('r'),
                        optional: flags.contains('o'),
                        computed: flags.contains('c'),
                        sensitive: flags.contains('s'),
                        write_only: flags.contains('w'),
                        ..schema::Attribute::default()
                    });
                let block = schema::Block {
                    attributes: attributes.collect(),
                    ..schema::Block::default()
                };
                Schema {
                    version,
                    block: Some(block),
                }
            };
            let one =
                |name: &str, version, attributes| [(name.to_owned(), schema(version, attributes))].into();
            let fire = ActionSchema {
                schema: Some(schema(0, FIRE)),
            };
            let response = SchemaResponse {
                provider: Some(schema(0, PROVIDER)),
                resource_schemas: one("model_thing", 1, THING),
                data_source_schemas: one("model_data", 0, DATA),
                ephemeral_resource_schemas: one("model_key", 0, KEY),
                list_resource_schemas: one("model_thing", 0, LIST),
                action_schemas: [("model_fire".to_owned(), fire)].into(),
                functions: [("echo".to_owned(), function())].into(),
                provider_meta: Some(schema(0, META)),
                server_capabilities: Some(capabilities(script)),
                diagnostics: Vec::new(),
            };
            let mut message = response.encode_to_vec();
            // An entry of the map of state stores (10).
            let mut entry = vec![1 << 3 | 2, 11];
            entry.extend_from_slice(b"model_other");
            entry.push(2 << 3 | 2);
            prost::encoding::encode_varint(schema(0, DATA).encoded_len() as u64, &mut entry);
            entry.extend(schema(0, DATA).encode_to_vec());
            message.push(10 << 3 | 2);
            prost::encoding::encode_varint(entry.len() as u64, &mut message);
            message.extend(entry);
            message
        }
    };
}

response!(of_five, tfplugin5);
response!(of_six, tfplugin6);

pub(super) fn whole(script: &Script) -> Vec<u8> {
    let mut message = match script.generation {
        5 => of_five(script),
        _ => of_six(script),
    };
    if script.fault("GetProviderSchema") == "crowd" {
        // Remarks without a word.
        message.extend([4 << 3 | 2, 0].repeat(CROWD_OF_SCHEMA));
    }
    message
}

fn capabilities(script: &Script) -> tfplugin::ServerCapabilities {
    tfplugin::ServerCapabilities {
        plan_destroy: true,
        get_provider_schema_optional: script.schema_is_optional,
        move_resource_state: true,
        generate_resource_config: true,
    }
}

fn function() -> tfplugin::Function {
    tfplugin::Function {
        parameters: vec![tfplugin::function::Parameter {
            name: "text".to_owned(),
            r#type: br#""string""#.to_vec(),
            ..tfplugin::function::Parameter::default()
        }],
        variadic_parameter: None,
        r#return: Some(tfplugin::function::Return {
            r#type: br#""string""#.to_vec(),
        }),
    }
}

pub(super) fn identities() -> Vec<u8> {
    use tfplugin::{get_resource_identity_schemas::Response, resource_identity_schema::IdentityAttribute};
    let attributes = IDENTITY.iter().map(|(name, ty, _)| IdentityAttribute {
        name: (*name).to_owned(),
        r#type: ty.as_bytes().to_vec(),
        required_for_import: true,
        ..IdentityAttribute::default()
    });
    let schema = tfplugin::ResourceIdentitySchema {
        version: 1,
        identity_attributes: attributes.collect(),
    };
    let response = Response {
        identity_schemas: [("model_thing".to_owned(), schema)].into(),
        diagnostics: Vec::new(),
    };
    response.encode_to_vec()
}
