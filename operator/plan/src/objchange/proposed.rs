//! The proposed new object: configuration, with what the provider computed before where the configuration is silent.
//!
//! Goes with each plan request. Computed attributes are not made unknown here: that is the provider's part. All values
//! come without marks.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::{
    Data, Type, Value,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
};

use super::part::{element_at, elements, entries_like, items_like, part, same};

type Attributes = BTreeMap<Arc<str>, Attribute>;

/// What is inside a nested block or a nested attribute.
#[derive(Clone, Copy)]
enum Inner<'s> {
    Block(&'s Block),
    Attributes(&'s Attributes),
}

/// The object to propose for `config`, given the object there was. Both conform to the schema; `prior` may be null.
pub fn proposed_new(schema: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() && prior.is_null() {
        return prior.clone();
    }
    if prior.is_null() {
        propose(schema, &empty_value(schema), config)
    } else {
        propose(schema, prior, config)
    }
}

/// The object of a data resource before it is read: unknown wherever the provider will answer.
pub fn planned_data_resource(schema: &Block, config: &Value) -> Value {
    propose(schema, &Value::unknown(schema.ty()), config)
}

/// What an empty block would be decoded to.
pub fn empty_value(schema: &Block) -> Value {
    let attributes = schema
        .attributes
        .iter()
        .map(|(name, attribute)| (name.clone(), Value::null(attribute.ty())));
    let blocks = schema
        .blocks
        .iter()
        .map(|(name, nested)| (name.clone(), empty_blocks(nested)));
    Value::object_of(attributes.chain(blocks).collect())
}

/// The value of no blocks of this type.
pub(super) fn empty_blocks(nested: &NestedBlock) -> Value {
    match (nested.nesting, nested.ty()) {
        (Nesting::Group, _) => empty_value(&nested.block),
        (Nesting::List, Type::Dynamic) => Value::tuple(Vec::new()),
        (Nesting::Map, Type::Dynamic) => Value::object_of(BTreeMap::new()),
        (Nesting::Single, ty) => Value::null(ty),
        (Nesting::List | Nesting::Set | Nesting::Map, ty) => Value::empty(&ty),
    }
}

fn propose(schema: &Block, prior: &Value, config: &Value) -> Value {
    if config.is_null() || !config.is_known() {
        return prior.clone();
    }
    let mut attrs = propose_attributes(&schema.attributes, prior, config);
    for (name, nested) in &schema.blocks {
        let prior = part(prior, name, || nested.ty());
        let config = part(config, name, || nested.ty());
        attrs.insert(name.clone(), propose_blocks(nested, &prior, &config));
    }
    Value::object_of(attrs)
}

fn propose_attributes(attributes: &Attributes, prior: &Value, config: &Value) -> BTreeMap<Arc<str>, Value> {
    let propose = |(name, attribute): (&Arc<str>, &Attribute)| {
        let prior = part(prior, name, || attribute.ty());
        let config = part(config, name, || attribute.ty());
        let new = match &attribute.ty {
            // Once configured, now not: what was set must not be kept as if the provider had computed it.
            _ if attribute.computed && config.is_null() => {
                if came_from_config(attribute, &prior) {
                    config
                } else {
                    prior
                }
            }
            AttributeType::Nested { nesting, attributes } => {
                propose_nested(*nesting, attributes, &prior, config)
            }
            AttributeType::Plain(_) => config,
        };
        (name.clone(), new)
    };
    attributes.iter().map(propose).collect()
}

fn propose_nested(nesting: Nesting, attributes: &Attributes, prior: &Value, config: Value) -> Value {
    if config.is_null() || !config.is_known() {
        return config;
    }
    let inner = Inner::Attributes(attributes);
    match nesting {
        Nesting::Single | Nesting::Group => inner.propose(prior, &config),
        Nesting::List | Nesting::Map => propose_keyed(inner, prior, &config),
        Nesting::Set => propose_set(inner, prior, &config),
    }
}

fn propose_blocks(nested: &NestedBlock, prior: &Value, config: &Value) -> Value {
    if !config.is_known() {
        return config.clone();
    }
    let inner = Inner::Block(&nested.block);
    match nested.nesting {
        Nesting::Single if config.is_null() => config.clone(),
        Nesting::Single | Nesting::Group => inner.propose(prior, config),
        Nesting::List | Nesting::Map => propose_keyed(inner, prior, config),
        Nesting::Set => propose_set(inner, prior, config),
    }
}

/// Elements of lists pair by position, of maps by key; a configured element without a pair has a null prior.
fn propose_keyed(inner: Inner<'_>, prior: &Value, config: &Value) -> Value {
    let configured = elements(config);
    if configured.is_empty() {
        return config.clone();
    }
    let is_list = config.as_items().is_some();
    let proposed = configured.into_iter().map(|(step, config)| {
        let new = match element_at(prior, &step) {
            Some(prior) => inner.propose(&prior, &config),
            None if !prior.is_known() => inner.propose(&Value::unknown(config.ty()), &config),
            None if is_list => config,
            None => inner.propose(&Value::null(config.ty()), &config),
        };
        (step, new)
    });
    if is_list {
        return items_like(config, proposed.map(|(_, new)| new).collect());
    }
    let keys = config.as_entries().into_iter().flat_map(BTreeMap::keys).cloned();
    entries_like(config, keys.zip(proposed.map(|(_, new)| new)).collect())
}

/// Members of sets have no identity but their value: each configured one takes the first free prior member that may
/// have been made from it.
fn propose_set(inner: Inner<'_>, prior: &Value, config: &Value) -> Value {
    let Data::Set(element, configured) = config.data() else {
        return config.clone();
    };
    if configured.is_empty() {
        return config.clone();
    }
    let mut free: Vec<&Value> = prior.as_items().into_iter().flatten().collect();
    let proposed = configured.iter().map(|config| {
        let pair = free.iter().position(|prior| inner.may_come_from(prior, config));
        let prior = pair.map_or_else(|| Value::null(element.clone()), |at| free.remove(at).clone());
        inner.propose(&prior, config)
    });
    items_like(config, proposed.collect())
}

impl Inner<'_> {
    fn propose(self, prior: &Value, config: &Value) -> Value {
        match self {
            Inner::Block(block) => proposed_new(block, prior, config),
            Inner::Attributes(_) if config.is_null() => config.clone(),
            Inner::Attributes(attributes) => Value::object_of(propose_attributes(attributes, prior, config)),
        }
    }

    /// May `prior` be `config` with computed values filled in where `config` is null?
    fn may_come_from(self, prior: &Value, config: &Value) -> bool {
        if same(config, prior) {
            return true;
        }
        let mut valid = true;
        prior.walk(&mut |path, prior| {
            if !valid {
                return false;
            }
            let Ok(config) = path.apply(config) else {
                valid = false;
                return false;
            };
            if same(&config, prior) {
                return false;
            }
            if matches!(
                config.data(),
                Data::Set(..) | Data::Null(Type::Set(_)) | Data::Unknown(Type::Set(_), _)
            ) {
                valid = false;
                return false;
            }
            let attribute = match self {
                Inner::Block(block) => block.attribute_at(&path.0),
                Inner::Attributes(attributes) => Attribute::nested_at(attributes, &path.0),
            };
            match attribute {
                None => true,
                Some(Attribute {
                    ty: AttributeType::Nested { .. },
                    ..
                }) => true,
                Some(attribute) => {
                    valid = attribute.computed && config.is_null();
                    false
                }
            }
        });
        valid
    }
}

/// Does the prior value of an optional nested attribute hold something that only configuration can have set?
fn came_from_config(attribute: &Attribute, prior: &Value) -> bool {
    let AttributeType::Nested { attributes, .. } = &attribute.ty else {
        return false;
    };
    if !attribute.optional {
        return false;
    }
    let mut found = false;
    prior.walk(&mut |path, value| {
        found = found
            || (!value.is_null()
                && Attribute::nested_at(attributes, &path.0).is_some_and(|attribute| !attribute.computed));
        !found
    });
    found
}
