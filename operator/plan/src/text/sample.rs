//! Plans for tests of the text and the JSON form.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{Module, Provider, ProviderConfig};
use ashlar_value::{
    Type, Value, json,
    ops::OpError,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting, ProviderSchema, Schema},
};

use crate::{Action, Change, FunctionResults, Options, Plan, Schemas, objchange::normalize_null_blocks};

/// An optional and computed attribute.
pub(crate) fn attribute(ty: AttributeType) -> Attribute {
    Attribute {
        ty,
        required: false,
        optional: true,
        computed: true,
        sensitive: false,
        write_only: false,
        deprecated: None,
    }
}

/// A schema with one of each: attributes of all kinds, a sensitive and a write-only one, nested attributes, blocks.
pub(crate) fn block() -> Block {
    let plain = |ty: Type| attribute(AttributeType::Plain(ty));
    let nested = |nesting| {
        attribute(AttributeType::Nested {
            nesting,
            attributes: [("depth", plain(Type::Number)), ("quarry", plain(Type::String))]
                .map(|(name, attribute)| (Arc::from(name), attribute))
                .into(),
        })
    };
    let sub_block = |nesting| NestedBlock {
        nesting,
        block: Block {
            attributes: [
                (Arc::from("port"), plain(Type::Number)),
                (Arc::from("via"), plain(Type::String)),
            ]
            .into(),
            ..Block::default()
        },
        min_items: 0,
        max_items: 0,
    };
    Block {
        attributes: [
            ("id", plain(Type::String)),
            ("name", plain(Type::String)),
            ("size", plain(Type::Number)),
            ("fired", plain(Type::Bool)),
            ("note", plain(Type::String)),
            ("parts", plain(Type::list(Type::String))),
            ("marks", plain(Type::set(Type::String))),
            ("labels", plain(Type::map(Type::String))),
            ("any", plain(Type::Dynamic)),
            (
                "secret",
                Attribute {
                    sensitive: true,
                    ..plain(Type::String)
                },
            ),
            (
                "key_wo",
                Attribute {
                    write_only: true,
                    ..plain(Type::String)
                },
            ),
            ("origin", nested(Nesting::Single)),
            ("clays", nested(Nesting::List)),
        ]
        .map(|(name, attribute)| (Arc::from(name), attribute))
        .into(),
        blocks: [
            ("rule", sub_block(Nesting::List)),
            ("seal", sub_block(Nesting::Set)),
            ("zone", sub_block(Nesting::Map)),
        ]
        .map(|(name, nested)| (Arc::from(name), nested))
        .into(),
        deprecated: None,
    }
}

pub(crate) fn schemas() -> Schemas {
    let schema = Schema {
        version: 1,
        block: block(),
        identity: None,
    };
    let provider = ProviderSchema {
        resources: [(Arc::from("kiln_pot"), schema.clone())].into(),
        data_sources: [(Arc::from("kiln_pot"), schema)].into(),
        actions: [(Arc::from("kiln_fire"), block())].into(),
        ..ProviderSchema::default()
    };
    [(Provider::implied("kiln"), Arc::new(provider))].into()
}

/// A value of the schema from JSON: what is left out is null or no block, the text `?` stands for an unknown string.
pub(crate) fn object(text: &str) -> Value {
    let value = json::decode(text.as_bytes(), &block().ty()).unwrap();
    let change = |_: &_, value: Value| -> Result<Value, OpError> {
        Ok(match value.as_str() {
            Some(text) if &**text == "?" => Value::unknown(Type::String),
            _ => value,
        })
    };
    normalize_null_blocks(&block(), &value.transform(&mut { change }).unwrap())
}

/// A change from JSON; the empty text is no object.
pub(crate) fn change(address: &str, action: Action, before: &str, after: &str) -> Change {
    let side = |text: &str| match text {
        "" => Value::null(block().ty()),
        text => object(text),
    };
    Change {
        address: address.parse().unwrap(),
        deposed: None,
        previous_address: None,
        importing: None,
        provider: ProviderConfig {
            module: Module::root(),
            provider: Provider::implied("kiln"),
            alias: None,
            key: ashlar_addr::InstanceKey::None,
        },
        action,
        reason: None,
        before: side(before),
        after: side(after),
        replace_paths: Vec::new(),
        private: Arc::default(),
        before_identity: None,
        after_identity: None,
        depose_as: None,
        dependencies: Arc::default(),
        create_before_destroy: false,
    }
}

pub(crate) fn plan(changes: Vec<Change>) -> Plan {
    Plan {
        options: Options::default(),
        modules: std::collections::BTreeMap::new(),
        packages: std::collections::BTreeMap::new(),
        config: Vec::new(),
        variables: BTreeMap::new(),
        given_again: Default::default(),
        given: Default::default(),
        previous_state: Default::default(),
        prior_state: Default::default(),
        changes,
        drift: Vec::new(),
        outputs: BTreeMap::new(),
        checks: BTreeMap::new(),
        steps: Vec::new(),
        providers: Vec::new(),
        functions: FunctionResults::default(),
        timestamp: "2026-01-02T03:04:05Z".to_owned(),
        errored: false,
        invocations: Vec::new(),
        generated: Default::default(),
        module_outputs: Default::default(),
    }
}
