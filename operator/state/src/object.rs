//! One object between its two lives: JSON in the state, a value in the engine.
//!
//! The state keeps no marks, only the paths that are sensitive; they come off here and go back on here. Unknown parts
//! become null, since a state cannot hold them; whoever calls has complained of them already.
//! Source: Terraform `internal/states/instance_object.go`.

use std::sync::Arc;

use ashlar_addr::ConfigResource;
use ashlar_diag::{Diag, Diags};
use ashlar_value::{
    Mark, Marks, Path, Value, json,
    ops::OpError,
    schema::{IdentitySchema, Schema},
};

use crate::{Identity, Object, Status, layout};

/// What an object has beside its attributes.
#[derive(Clone, Debug)]
pub struct ObjectParts<'a> {
    /// Its identity, if it has one that is wholly known.
    pub identity: Option<&'a Value>,
    /// What the provider wants kept.
    pub private: Arc<[u8]>,
    /// Ready or tainted.
    pub status: Status,
    /// What it depends on, in any order.
    pub dependencies: Vec<ConfigResource>,
    /// Must its replacement come before its destruction?
    pub create_before_destroy: bool,
    /// Is it only forgotten where it would be destroyed? (OpenTofu)
    pub skip_destroy: bool,
}

/// The object to keep for a value of the schema's type. Sensitive marks become paths; ephemeral ones are a fault.
pub fn encode_object(value: &Value, schema: &Schema, parts: ObjectParts<'_>) -> Result<Object, Diags> {
    let (value, marks) = value.clone().unmark_deep_with_paths();
    if let Some((path, _)) = marks.iter().find(|(_, marks)| marks.contains(Mark::Ephemeral)) {
        return Err(Diag::error(
            "Failed to encode object for state",
            format!("The value at {path} is ephemeral, and so must not be kept in the state."),
        )
        .into());
    }
    let mut sensitive: Vec<(String, Path)> = marks
        .into_iter()
        .filter(|(_, marks)| marks.contains(Mark::Sensitive))
        .map(|(path, _)| (path.to_string(), path))
        .collect();
    sensitive.sort_by(|(a, _), (b, _)| a.cmp(b));
    let attributes = encode(&without_unknown(value)?, &schema.block.ty())?;
    let identity = match (&schema.identity, parts.identity) {
        (None, _) => None,
        (Some(schema), Some(identity)) if !identity.is_null() && identity.is_wholly_known() => {
            Some(Identity {
                version: schema.version,
                json: encode(identity, &schema.ty())?,
            })
        }
        (Some(schema), _) if schema.version != 0 => Some(Identity {
            version: schema.version,
            json: Arc::default(),
        }),
        (Some(_), _) => None,
    };
    let mut dependencies: Vec<(String, ConfigResource)> = parts
        .dependencies
        .into_iter()
        .map(|address| (address.to_string(), address))
        .collect();
    dependencies.sort_by(|(a, _), (b, _)| a.cmp(b));
    dependencies.dedup_by(|(a, _), (b, _)| a == b);
    Ok(Object {
        schema_version: schema.version,
        attributes,
        sensitive: sensitive.into_iter().map(|(_, path)| path).collect(),
        private: parts.private,
        status: parts.status,
        dependencies: dependencies.into_iter().map(|(_, address)| address).collect(),
        create_before_destroy: parts.create_before_destroy,
        skip_destroy: parts.skip_destroy,
        identity,
    })
}

fn encode(value: &Value, ty: &ashlar_value::Type) -> Result<Arc<[u8]>, Diags> {
    let fault = |detail: String| Diags::from(Diag::error("Failed to encode object for state", detail));
    let json =
        json::encode(value, ty).map_err(|error| fault(format!("At {}: {}.", error.path, error.message)))?;
    let json = std::str::from_utf8(&json).ok().and_then(layout::compact);
    json.map(Arc::from)
        .ok_or_else(|| fault("The value nests too deep to be kept in the state.".to_owned()))
}

fn without_unknown(value: Value) -> Result<Value, Diags> {
    if value.is_wholly_known() {
        return Ok(value);
    }
    value
        .transform(&mut |_, part: Value| {
            Ok::<_, OpError>(if part.is_known() {
                part
            } else {
                Value::null(part.ty())
            })
        })
        .map_err(|_| {
            Diag::error(
                "Failed to encode object for state",
                "Unknown parts of it could not be left out.",
            )
            .into()
        })
}

/// The value an object has by the present schema, sensitive where it was. The schema version is the caller's business.
pub fn decode_object(object: &Object, schema: &Schema) -> Result<Value, Diags> {
    let value = decode(&object.attributes, &schema.block.ty())?;
    let marks: Vec<(Path, Marks)> = object
        .sensitive
        .iter()
        .map(|path| (path.clone(), Marks::SENSITIVE))
        .collect();
    Ok(value.mark_paths(&marks))
}

/// The identity an object has by the present identity schema.
pub fn decode_identity(object: &Object, schema: &IdentitySchema) -> Result<Option<Value>, Diags> {
    match &object.identity {
        Some(identity) if !identity.json.is_empty() => decode(&identity.json, &schema.ty()).map(Some),
        _ => Ok(None),
    }
}

fn decode(json: &[u8], ty: &ashlar_value::Type) -> Result<Value, Diags> {
    json::decode(json, ty).map_err(|error| {
        let place = if error.path.is_root() {
            String::new()
        } else {
            format!(" at {}", error.path)
        };
        Diag::error(
            "Failed to decode resource from state",
            format!(
                "What the state holds does not fit the provider's schema{place}: {}.",
                error.message
            ),
        )
        .into()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ashlar_value::{
        Type,
        schema::{Attribute, AttributeType, Block},
    };

    use super::*;

    fn attribute(ty: Type) -> Attribute {
        Attribute {
            ty: AttributeType::Plain(ty),
            required: false,
            optional: true,
            computed: true,
            sensitive: false,
            write_only: false,
            deprecated: None,
        }
    }

    fn schema() -> Schema {
        let attributes = [
            ("any", Type::Dynamic),
            ("id", Type::String),
            ("list", Type::list(Type::Number)),
            ("tags", Type::map(Type::String)),
        ];
        let attributes = attributes
            .into_iter()
            .map(|(name, ty)| (Arc::from(name), attribute(ty)));
        let identity = IdentitySchema {
            version: 2,
            attributes: BTreeMap::from([(Arc::from("name"), (Type::String, true))]),
        };
        Schema {
            version: 3,
            block: Block {
                attributes: attributes.collect(),
                ..Block::default()
            },
            identity: Some(identity),
        }
    }

    fn parts(identity: Option<&Value>) -> ObjectParts<'_> {
        ObjectParts {
            identity,
            private: Arc::from(*b"p"),
            status: Status::Tainted,
            dependencies: ["t.b", "module.m.t.a", "t.b"]
                .map(|text| text.parse().unwrap())
                .to_vec(),
            create_before_destroy: true,
            skip_destroy: true,
        }
    }

    fn value(id: Value, tag: Value) -> Value {
        Value::object([
            ("any", Value::list(Type::Bool, vec![Value::bool(true)])),
            ("id", id),
            (
                "list",
                Value::list(Type::Number, vec![Value::number(1)]).with_marks(Marks::SENSITIVE),
            ),
            ("tags", Value::map(Type::String, [("k", tag)])),
        ])
    }

    /// Encodes, compares the JSON, and decodes to `back`.
    fn check(value: &Value, json: &str, back: &Value) -> Object {
        let object = encode_object(value, &schema(), parts(None)).unwrap();
        assert_eq!(String::from_utf8_lossy(&object.attributes), json);
        assert_eq!(decode_object(&object, &schema()).unwrap(), *back);
        object
    }

    #[test]
    fn marks_become_paths_and_come_back() {
        let secret = value(
            Value::string("a<b"),
            Value::string("x").with_marks(Marks::SENSITIVE),
        );
        let json = "{\"any\":{\"value\":[true],\"type\":[\"list\",\"bool\"]},\"id\":\"a\\u003cb\",\"list\":[1],\
                    \"tags\":{\"k\":\"x\"}}";
        let object = check(&secret, json, &secret);
        let paths: Vec<String> = object.sensitive.iter().map(ToString::to_string).collect();
        assert_eq!(paths, [".list", ".tags[\"k\"]"]);
        let dependencies: Vec<String> = object.dependencies.iter().map(ToString::to_string).collect();
        assert_eq!(dependencies, ["module.m.t.a", "t.b"]);
        assert_eq!((object.schema_version, object.status), (3, Status::Tainted));
    }

    #[test]
    fn unknown_parts_become_null_and_keep_their_marks() {
        let unknown = value(
            Value::unknown(Type::String).with_marks(Marks::SENSITIVE),
            Value::string("x"),
        );
        let null = value(
            Value::null(Type::String).with_marks(Marks::SENSITIVE),
            Value::string("x"),
        );
        let json = "{\"any\":{\"value\":[true],\"type\":[\"list\",\"bool\"]},\"id\":null,\"list\":[1],\
                    \"tags\":{\"k\":\"x\"}}";
        check(&unknown, json, &null);
    }

    #[test]
    fn what_is_ephemeral_is_not_kept() {
        let value = value(
            Value::string("a").with_marks(Marks::EPHEMERAL),
            Value::string("x"),
        );
        let diags = encode_object(&value, &schema(), parts(None)).unwrap_err();
        assert!(diags.to_string().contains(".id is ephemeral"), "{diags}");
    }

    #[test]
    fn an_identity_is_kept_if_it_is_known() {
        let name = Value::object([("name", Value::string("n"))]);
        let value = value(Value::string("a"), Value::string("x"));
        let decode = |identity: Option<&Value>| {
            let object = encode_object(&value, &schema(), parts(identity)).unwrap();
            assert_eq!(object.identity.as_ref().map(|identity| identity.version), Some(2));
            decode_identity(&object, schema().identity.as_ref().unwrap()).unwrap()
        };
        assert_eq!(decode(Some(&name)), Some(name.clone()));
        assert_eq!(decode(None), None);
        assert_eq!(
            decode(Some(&Value::object([("name", Value::unknown(Type::String))]))),
            None
        );
    }

    #[test]
    fn an_object_that_does_not_fit_is_an_error() {
        let value = value(Value::string("a"), Value::string("x"));
        let mut object = encode_object(&value, &schema(), parts(None)).unwrap();
        object.attributes = Arc::from(*b"{\"list\":{}}");
        assert!(decode_object(&object, &schema()).is_err());
    }
}
