//! Schemas of providers: what a block may hold, and the object type that follows from it.
//!
//! Source: Terraform `internal/configs/configschema`.

use std::{collections::BTreeMap, sync::Arc};

pub use crate::offered::{Maker, Offered};
use crate::{ObjectAttr, ObjectType, PathStep, Type};

/// All that a provider offers.
#[derive(Clone, Debug, Default)]
pub struct ProviderSchema {
    /// The provider's own configuration.
    pub provider: Schema,
    /// The `provider_meta` block, if the provider takes one.
    pub provider_meta: Option<Schema>,
    /// Managed resource types.
    pub resources: Offered<Schema>,
    /// Data sources.
    pub data_sources: Offered<Schema>,
    /// Ephemeral resource types.
    pub ephemeral_resources: Offered<Schema>,
    /// Actions: what the `config` block of each holds.
    pub actions: Offered<Block>,
    /// Resource types whose objects can be listed: what the `config` block of each list holds.
    pub lists: Offered<Schema>,
    /// Functions.
    pub functions: BTreeMap<Arc<str>, Function>,
    /// Does the provider want to be asked to plan deletions?
    pub plan_destroy: bool,
    /// May the schema be kept and not asked again of later processes?
    pub get_provider_schema_optional: bool,
    /// Can it move resources across types?
    pub move_resource_state: bool,
    /// Can it tell the configuration that an object would have?
    pub generate_resource_config: bool,
}

/// A versioned block.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// Schema version, for upgrades.
    pub version: i64,
    /// The content.
    pub block: Block,
    /// The identity schema, if the type has one.
    pub identity: Option<IdentitySchema>,
}

/// The signature of a function.
#[derive(Clone, Debug)]
pub struct Function {
    /// In order.
    pub params: Vec<Parameter>,
    /// The parameter that further arguments are for.
    pub variadic: Option<Parameter>,
    /// The type of the result.
    pub result: Type,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// For people: arguments are given by position.
    pub name: String,
    /// Arguments are converted to this.
    pub ty: Type,
    /// May it be null?
    pub null: bool,
    /// May it be unknown, or hold what is?
    pub unknown: bool,
}

impl Function {
    /// The parameter that the argument of this index is for, if there is one.
    pub fn param(&self, at: usize) -> Option<&Parameter> {
        self.params.get(at).or(self.variadic.as_ref())
    }
}

/// The identity of a resource type.
#[derive(Clone, Debug)]
pub struct IdentitySchema {
    /// Its own version.
    pub version: i64,
    /// Its attributes: type and whether import must give it.
    pub attributes: BTreeMap<Arc<str>, (Type, bool)>,
}

impl IdentitySchema {
    /// The type of identity values.
    pub fn ty(&self) -> Type {
        Type::object(
            self.attributes
                .iter()
                .map(|(name, (ty, _))| (name.clone(), ty.clone())),
        )
    }

    /// What an import block gives: all that import must have, and others if they are known.
    pub fn import_type(&self) -> Type {
        let attrs = self.attributes.iter().map(|(name, (ty, required))| ObjectAttr {
            name: name.clone(),
            ty: ty.clone(),
            optional: !required,
        });
        Type::Object(ObjectType::new(attrs).into())
    }
}

/// Attributes and nested blocks.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// By name.
    pub attributes: BTreeMap<Arc<str>, Attribute>,
    /// By type.
    pub blocks: BTreeMap<Arc<str>, NestedBlock>,
    /// Set where the whole block is deprecated (the text may be empty).
    pub deprecated: Option<String>,
}

/// One argument or result.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its type.
    pub ty: AttributeType,
    /// Must it be set?
    pub required: bool,
    /// May it be set?
    pub optional: bool,
    /// May the provider set it?
    pub computed: bool,
    /// Is it sensitive by itself?
    pub sensitive: bool,
    /// Is it sent to the provider but never kept?
    pub write_only: bool,
    /// Set where it is deprecated (the text may be empty).
    pub deprecated: Option<String>,
}

/// A plain type, or attributes of their own (protocol 6).
#[derive(Clone, Debug)]
pub enum AttributeType {
    /// A type.
    Plain(Type),
    /// Nested attributes.
    Nested {
        /// How many there are and how they are told apart.
        nesting: Nesting,
        /// By name.
        attributes: BTreeMap<Arc<str>, Attribute>,
    },
}

/// A nested block type.
#[derive(Clone, Debug)]
pub struct NestedBlock {
    /// How many there are and how they are told apart.
    pub nesting: Nesting,
    /// The content of each.
    pub block: Block,
    /// At least so many.
    pub min_items: u64,
    /// At most so many; 0: no limit.
    pub max_items: u64,
}

/// How nested blocks or attributes are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// One or none.
    Single,
    /// Always one, never null (blocks only).
    Group,
    /// In order.
    List,
    /// Without order.
    Set,
    /// By key (blocks: by their one label).
    Map,
}

impl Block {
    /// The object type of this block's values.
    pub fn ty(&self) -> Type {
        let attributes = self
            .attributes
            .iter()
            .map(|(name, attribute)| (name.clone(), attribute.ty()));
        let blocks = self.blocks.iter().map(|(name, block)| (name.clone(), block.ty()));
        Type::object(attributes.chain(blocks))
    }

    /// Is any attribute sensitive, at any depth?
    pub fn has_sensitive(&self) -> bool {
        self.attributes.values().any(Attribute::has_sensitive)
            || self.blocks.values().any(|nested| nested.block.has_sensitive())
    }
}

impl Block {
    /// The attribute that the path leads to; `None` where it leads to a block, an element or into a plain value.
    pub fn attribute_at(&self, path: &[PathStep]) -> Option<&Attribute> {
        let mut block = self;
        for (at, step) in path.iter().enumerate() {
            let PathStep::Attr(name) = step else { continue };
            if let Some(attribute) = block.attributes.get(name) {
                return attribute.within(path.get(at + 1..).unwrap_or_default());
            }
            block = &block.blocks.get(name)?.block;
        }
        None
    }
}

impl Attribute {
    /// As [`Block::attribute_at`], from the attributes of a nested attribute type.
    pub fn nested_at<'s>(
        attributes: &'s BTreeMap<Arc<str>, Attribute>,
        path: &[PathStep],
    ) -> Option<&'s Attribute> {
        let named = |step: &PathStep| match step {
            PathStep::Attr(name) => attributes.get(name),
            PathStep::Index(_) => None,
        };
        let (at, attribute) = path
            .iter()
            .enumerate()
            .find_map(|(at, step)| Some((at, named(step)?)))?;
        attribute.within(path.get(at + 1..).unwrap_or_default())
    }

    fn within(&self, rest: &[PathStep]) -> Option<&Attribute> {
        match &self.ty {
            _ if rest.is_empty() => Some(self),
            AttributeType::Nested { attributes, .. } => Self::nested_at(attributes, rest),
            AttributeType::Plain(_) => None,
        }
    }

    /// The type of its values.
    pub fn ty(&self) -> Type {
        match &self.ty {
            AttributeType::Plain(ty) => ty.clone(),
            AttributeType::Nested { nesting, attributes } => {
                let object = Type::object(
                    attributes
                        .iter()
                        .map(|(name, attribute)| (name.clone(), attribute.ty())),
                );
                nesting.around(object)
            }
        }
    }

    fn has_sensitive(&self) -> bool {
        self.sensitive
            || match &self.ty {
                AttributeType::Plain(_) => false,
                AttributeType::Nested { attributes, .. } => attributes.values().any(Attribute::has_sensitive),
            }
    }
}

impl NestedBlock {
    /// The type of the value all blocks of this type make up. Lists and maps whose blocks hold dynamic types become
    /// dynamic (a tuple or object once known), as in Terraform `implied_type.go`.
    pub fn ty(&self) -> Type {
        let object = self.block.ty();
        match self.nesting {
            Nesting::List | Nesting::Map if object.has_dynamic() => Type::Dynamic,
            nesting => nesting.around(object),
        }
    }
}

impl Nesting {
    /// Is there at most one, so that the value is the object itself?
    pub fn is_one(self) -> bool {
        matches!(self, Nesting::Single | Nesting::Group)
    }

    fn around(self, object: Type) -> Type {
        match self {
            Nesting::Single | Nesting::Group => object,
            Nesting::List => Type::list(object),
            Nesting::Set => Type::set(object),
            Nesting::Map => Type::map(object),
        }
    }
}
