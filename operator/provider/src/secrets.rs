//! What of an object its schema calls sensitive, so that it is told to who keeps secrets out of what is said of a run.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{
    Data, Value,
    schema::{Attribute, AttributeType, Block, Nesting},
};

/// The known values of all sensitive attributes.
pub(crate) fn sensitive_parts(block: &Block, value: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    if block.has_sensitive() {
        in_block(block, value, &mut found);
    }
    found
}

fn in_block(block: &Block, value: &Value, found: &mut Vec<Value>) {
    in_attributes(&block.attributes, value, found);
    for (name, nested) in &block.blocks {
        for one in each(nested.nesting, value.attr(name)) {
            in_block(&nested.block, &one, found);
        }
    }
}

fn in_attributes(attributes: &BTreeMap<Arc<str>, Attribute>, value: &Value, found: &mut Vec<Value>) {
    for (name, attribute) in attributes {
        let inner = value.attr(name);
        match &attribute.ty {
            _ if attribute.sensitive => {
                found.extend(inner.filter(|inner| inner.is_known() && !inner.is_null()))
            }
            AttributeType::Nested { nesting, attributes } => {
                for one in each(*nesting, inner) {
                    in_attributes(attributes, &one, found);
                }
            }
            AttributeType::Plain(_) => {}
        }
    }
}

/// The objects that a nested block or attribute holds.
fn each(nesting: Nesting, value: Option<Value>) -> Vec<Value> {
    let Some(value) = value else {
        return Vec::new();
    };
    if nesting.is_one() {
        return vec![value];
    }
    match value.data() {
        Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => items.iter().cloned().collect(),
        Data::Map(_, entries) | Data::Object(entries) => entries.values().cloned().collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use ashlar_value::{Type, schema::NestedBlock};

    use super::*;

    #[test]
    fn sensitive_attributes_are_found_at_any_depth() {
        let attribute = |sensitive: bool, ty: AttributeType| Attribute {
            ty,
            required: false,
            optional: true,
            computed: false,
            sensitive,
            write_only: false,
            deprecated: None,
        };
        let plain = |sensitive: bool| attribute(sensitive, AttributeType::Plain(Type::String));
        let inner = || BTreeMap::from([(Arc::from("open"), plain(false)), (Arc::from("key"), plain(true))]);
        let nested = AttributeType::Nested {
            nesting: Nesting::List,
            attributes: inner(),
        };
        let block = Block {
            attributes: [
                (Arc::from("token"), plain(true)),
                (Arc::from("keys"), attribute(false, nested)),
            ]
            .into(),
            blocks: [(
                Arc::from("b"),
                NestedBlock {
                    nesting: Nesting::Map,
                    block: Block {
                        attributes: inner(),
                        ..Block::default()
                    },
                    min_items: 0,
                    max_items: 0,
                },
            )]
            .into(),
            deprecated: None,
        };
        let object = |key: &str| Value::object([("open", Value::string("o")), ("key", Value::string(key))]);
        let value = Value::object([
            ("token", Value::unknown(Type::String)),
            ("keys", Value::tuple(vec![object("one"), object("two")])),
            ("b", Value::object([("x", object("three"))])),
        ]);
        let found = sensitive_parts(&block, &value);
        assert!(found == ["one", "two", "three"].map(Value::string));
    }
}
