//! Schemas from their wire form to ours. Generation 5 is first brought to the form of generation 6, which holds it.
//!
//! A schema that makes no sense (no nesting mode, a name used twice, an unreadable type) is an error, never a guess.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ashlar_value::{
    Type, json,
    schema::{
        Attribute, AttributeType, Block, Function, IdentitySchema, NestedBlock, Nesting, Parameter, Schema,
    },
};

use crate::proto::{
    tfplugin::{self, ResourceIdentitySchema},
    tfplugin5 as v5,
    tfplugin6::{
        self as v6,
        schema::{nested_block::NestingMode as BlockNesting, object::NestingMode as ObjectNesting},
    },
};

/// Where and why a schema makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {fault}")]
pub(crate) struct SchemaError {
    place: String,
    fault: String,
}

impl SchemaError {
    pub(crate) fn new(fault: impl Into<String>) -> Self {
        Self {
            place: String::new(),
            fault: fault.into(),
        }
    }

    pub(crate) fn inside(mut self, name: &str) -> Self {
        self.place = if self.place.is_empty() {
            name.to_owned()
        } else {
            format!("{name}.{}", self.place)
        };
        self
    }
}

/// One type, with its identity schema.
pub(crate) fn schema(
    sent: v6::Schema,
    identity: Option<ResourceIdentitySchema>,
) -> Result<Schema, SchemaError> {
    Ok(Schema {
        version: sent.version,
        block: block(sent.block.unwrap_or_default())?,
        identity: identity.map(identity_schema).transpose()?,
    })
}

/// The signature of a function.
pub(crate) fn function(sent: tfplugin::Function) -> Result<Function, SchemaError> {
    let params = sent.parameters.into_iter().map(parameter);
    Ok(Function {
        params: params.collect::<Result<_, _>>()?,
        variadic: sent.variadic_parameter.map(parameter).transpose()?,
        result: plain_type(&sent.r#return.unwrap_or_default().r#type)
            .map_err(|error| error.inside("return"))?,
    })
}

fn parameter(sent: tfplugin::function::Parameter) -> Result<Parameter, SchemaError> {
    Ok(Parameter {
        ty: plain_type(&sent.r#type).map_err(|error| error.inside(&sent.name))?,
        name: sent.name,
        null: sent.allow_null_value,
        unknown: sent.allow_unknown_values,
    })
}

fn identity_schema(sent: ResourceIdentitySchema) -> Result<IdentitySchema, SchemaError> {
    let attributes = sent.identity_attributes.into_iter().map(|attribute| {
        let ty = plain_type(&attribute.r#type).map_err(|error| error.inside(&attribute.name))?;
        Ok((attribute.name, (ty, attribute.required_for_import)))
    });
    Ok(IdentitySchema {
        version: sent.version,
        attributes: unique(attributes)?,
    })
}

fn block(sent: v6::schema::Block) -> Result<Block, SchemaError> {
    let attributes = unique(sent.attributes.into_iter().map(attribute))?;
    let blocks = unique(sent.block_types.into_iter().map(nested_block))?;
    if let Some(name) = blocks.keys().find(|name| attributes.contains_key(*name)) {
        return Err(SchemaError::new("an attribute and a block have the same name").inside(name));
    }
    Ok(Block {
        attributes,
        blocks,
        deprecated: sent.deprecated.then_some(sent.deprecation_message),
    })
}

/// Collects by name; a name given twice is an error.
fn unique<T>(
    entries: impl Iterator<Item = Result<(String, T), SchemaError>>,
) -> Result<BTreeMap<Arc<str>, T>, SchemaError> {
    let mut found = BTreeMap::new();
    for entry in entries {
        let (name, value) = entry?;
        let name: Arc<str> = name.into();
        if found.insert(name.clone(), value).is_some() {
            return Err(SchemaError::new("the name is used twice").inside(&name));
        }
    }
    Ok(found)
}

fn attribute(sent: v6::schema::Attribute) -> Result<(String, Attribute), SchemaError> {
    let ty = match sent.nested_type {
        Some(nested) => nested_attributes(nested),
        None => plain_type(&sent.r#type).map(AttributeType::Plain),
    };
    let ty = ty.map_err(|error| error.inside(&sent.name))?;
    let attribute = Attribute {
        ty,
        required: sent.required,
        optional: sent.optional,
        computed: sent.computed,
        sensitive: sent.sensitive,
        write_only: sent.write_only,
        deprecated: sent.deprecated.then_some(sent.deprecation_message),
    };
    Ok((sent.name, attribute))
}

fn nested_attributes(sent: v6::schema::Object) -> Result<AttributeType, SchemaError> {
    let nesting = match sent.nesting() {
        ObjectNesting::Single => Nesting::Single,
        ObjectNesting::List => Nesting::List,
        ObjectNesting::Set => Nesting::Set,
        ObjectNesting::Map => Nesting::Map,
        ObjectNesting::Invalid => return Err(SchemaError::new("the nesting mode is not valid")),
    };
    Ok(AttributeType::Nested {
        nesting,
        attributes: unique(sent.attributes.into_iter().map(attribute))?,
    })
}

fn nested_block(sent: v6::schema::NestedBlock) -> Result<(String, NestedBlock), SchemaError> {
    let nesting = match sent.nesting() {
        BlockNesting::Single => Nesting::Single,
        BlockNesting::Group => Nesting::Group,
        BlockNesting::List => Nesting::List,
        BlockNesting::Set => Nesting::Set,
        BlockNesting::Map => Nesting::Map,
        BlockNesting::Invalid => {
            return Err(SchemaError::new("the nesting mode is not valid").inside(&sent.type_name));
        }
    };
    let content = block(sent.block.unwrap_or_default()).map_err(|error| error.inside(&sent.type_name))?;
    let items = |count: i64| u64::try_from(count).unwrap_or(0);
    let nested = NestedBlock {
        nesting,
        block: content,
        min_items: items(sent.min_items),
        max_items: items(sent.max_items),
    };
    Ok((sent.type_name, nested))
}

fn plain_type(sent: &[u8]) -> Result<Type, SchemaError> {
    json::type_from_text(sent).map_err(|_| SchemaError::new("the type cannot be read"))
}

impl From<v5::SchemaResponse> for v6::SchemaResponse {
    fn from(sent: v5::SchemaResponse) -> Self {
        let all = |schemas: HashMap<String, v5::Schema>| {
            schemas
                .into_iter()
                .map(|(name, schema)| (name, schema.into()))
                .collect()
        };
        Self {
            provider: sent.provider.map(Into::into),
            resource_schemas: all(sent.resource_schemas),
            data_source_schemas: all(sent.data_source_schemas),
            diagnostics: sent.diagnostics,
            provider_meta: sent.provider_meta.map(Into::into),
            server_capabilities: sent.server_capabilities,
            ephemeral_resource_schemas: all(sent.ephemeral_resource_schemas),
            list_resource_schemas: all(sent.list_resource_schemas),
            action_schemas: sent
                .action_schemas
                .into_iter()
                .map(|(name, action)| {
                    let schema = action.schema.map(Into::into);
                    (name, v6::ActionSchema { schema })
                })
                .collect(),
            functions: sent.functions,
        }
    }
}

impl From<v5::Schema> for v6::Schema {
    fn from(sent: v5::Schema) -> Self {
        Self {
            version: sent.version,
            block: sent.block.map(Into::into),
        }
    }
}

impl From<v5::schema::Block> for v6::schema::Block {
    fn from(sent: v5::schema::Block) -> Self {
        Self {
            version: sent.version,
            attributes: sent.attributes.into_iter().map(Into::into).collect(),
            block_types: sent.block_types.into_iter().map(Into::into).collect(),
            deprecated: sent.deprecated,
            deprecation_message: sent.deprecation_message,
        }
    }
}

impl From<v5::schema::Attribute> for v6::schema::Attribute {
    fn from(sent: v5::schema::Attribute) -> Self {
        Self {
            name: sent.name,
            r#type: sent.r#type,
            required: sent.required,
            optional: sent.optional,
            computed: sent.computed,
            sensitive: sent.sensitive,
            deprecated: sent.deprecated,
            nested_type: None,
            write_only: sent.write_only,
            deprecation_message: sent.deprecation_message,
        }
    }
}

impl From<v5::schema::NestedBlock> for v6::schema::NestedBlock {
    fn from(sent: v5::schema::NestedBlock) -> Self {
        Self {
            type_name: sent.type_name,
            block: sent.block.map(Into::into),
            // The numbers of the modes are the same.
            nesting: sent.nesting,
            min_items: sent.min_items,
            max_items: sent.max_items,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attribute_of(name: &str, ty: &str) -> v6::schema::Attribute {
        v6::schema::Attribute {
            name: name.into(),
            r#type: ty.into(),
            ..Default::default()
        }
    }

    fn check(sent: v6::schema::Block, expected: Result<&str, &str>) {
        let got = block(sent)
            .map(|block| block.ty().to_string())
            .map_err(|error| error.to_string());
        assert_eq!(got.as_deref().map_err(String::as_str), expected);
    }

    #[test]
    fn blocks() {
        let nested = |name: &str, nesting: BlockNesting| v6::schema::NestedBlock {
            type_name: name.into(),
            block: Some(v6::schema::Block {
                attributes: vec![attribute_of("x", "\"bool\"")],
                ..Default::default()
            }),
            nesting: nesting.into(),
            ..Default::default()
        };
        let sent = |attributes, block_types| v6::schema::Block {
            attributes,
            block_types,
            ..Default::default()
        };
        check(
            sent(
                vec![attribute_of("a", r#"["list","string"]"#)],
                vec![nested("b", BlockNesting::Set)],
            ),
            Ok("object({a = list(string), b = set(object({x = bool}))})"),
        );
        let object = v6::schema::Object {
            attributes: vec![attribute_of("y", "\"number\"")],
            nesting: ObjectNesting::Map.into(),
        };
        let with_object = v6::schema::Attribute {
            nested_type: Some(object),
            ..attribute_of("o", "")
        };
        check(
            sent(vec![with_object], vec![]),
            Ok("object({o = map(object({y = number}))})"),
        );
        check(
            sent(vec![attribute_of("a", "\"wat\"")], vec![]),
            Err("a: the type cannot be read"),
        );
        check(
            sent(vec![attribute_of("a", "{")], vec![]),
            Err("a: the type cannot be read"),
        );
        check(
            sent(vec![], vec![nested("b", BlockNesting::Invalid)]),
            Err("b: the nesting mode is not valid"),
        );
        check(
            sent(
                vec![attribute_of("a", "\"bool\""), attribute_of("a", "\"bool\"")],
                vec![],
            ),
            Err("a: the name is used twice"),
        );
        check(
            sent(
                vec![attribute_of("b", "\"bool\"")],
                vec![nested("b", BlockNesting::Set)],
            ),
            Err("b: an attribute and a block have the same name"),
        );
    }

    #[test]
    fn generation_five_keeps_everything() {
        let five = v5::schema::Attribute {
            name: "p".into(),
            r#type: b"\"string\"".to_vec(),
            required: true,
            optional: true,
            computed: true,
            sensitive: true,
            deprecated: true,
            write_only: true,
            deprecation_message: "old".into(),
        };
        let (name, got) = attribute(five.into()).unwrap();
        assert_eq!(name, "p");
        assert!(got.required && got.optional && got.computed && got.sensitive && got.write_only);
        assert_eq!(got.deprecated.as_deref(), Some("old"));
    }
}
