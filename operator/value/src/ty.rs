//! Types, as cty has them.

use std::{fmt, sync::Arc};

/// A type or type constraint.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Type {
    /// Any type: of a value it means "not known yet", of a constraint `any`.
    Dynamic,
    /// `bool`
    Bool,
    /// `number`
    Number,
    /// `string`
    String,
    /// `list(T)`
    List(Arc<Type>),
    /// `set(T)`
    Set(Arc<Type>),
    /// `map(T)`
    Map(Arc<Type>),
    /// `tuple([T…])`
    Tuple(Arc<[Type]>),
    /// `object({name = T…})`
    Object(Arc<ObjectType>),
}

/// The attributes of an object type, sorted by name.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct ObjectType {
    attrs: Box<[ObjectAttr]>,
}

/// One attribute of an object type.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ObjectAttr {
    /// The name, in NFC.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// May it be left out? Only constraints have optional attributes, types of values never.
    pub optional: bool,
}

impl ObjectType {
    /// An object type; of a name given twice the last one counts.
    pub fn new(attrs: impl IntoIterator<Item = ObjectAttr>) -> Self {
        let mut attrs: Vec<ObjectAttr> = attrs.into_iter().collect();
        attrs.sort_by(|a, b| a.name.cmp(&b.name));
        // Stable sort keeps the given order among equals; the reverse pass keeps the last of them.
        attrs.reverse();
        attrs.dedup_by(|a, b| a.name == b.name);
        attrs.reverse();
        Self { attrs: attrs.into() }
    }

    /// The attributes in order of their names.
    pub fn attrs(&self) -> &[ObjectAttr] {
        &self.attrs
    }

    /// The attribute of this name.
    pub fn get(&self, name: &str) -> Option<&ObjectAttr> {
        self.attrs
            .binary_search_by(|attr| (*attr.name).cmp(name))
            .ok()
            .and_then(|at| self.attrs.get(at))
    }
}

impl Type {
    /// `list(element)`
    pub fn list(element: Type) -> Self {
        Type::List(Arc::new(element))
    }

    /// `set(element)`
    pub fn set(element: Type) -> Self {
        Type::Set(Arc::new(element))
    }

    /// `map(element)`
    pub fn map(element: Type) -> Self {
        Type::Map(Arc::new(element))
    }

    /// `tuple(items)`
    pub fn tuple(items: impl IntoIterator<Item = Type>) -> Self {
        Type::Tuple(items.into_iter().collect())
    }

    /// An object type without optional attributes.
    pub fn object<N: Into<Arc<str>>>(attrs: impl IntoIterator<Item = (N, Type)>) -> Self {
        Type::Object(Arc::new(ObjectType::new(attrs.into_iter().map(|(name, ty)| {
            ObjectAttr {
                name: name.into(),
                ty,
                optional: false,
            }
        }))))
    }

    /// `bool`, `number` or `string`?
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::Bool | Type::Number | Type::String)
    }

    /// List, set or map?
    pub fn is_collection(&self) -> bool {
        matches!(self, Type::List(_) | Type::Set(_) | Type::Map(_))
    }

    /// The element type of a list, set or map.
    pub fn element(&self) -> Option<&Type> {
        match self {
            Type::List(element) | Type::Set(element) | Type::Map(element) => Some(element),
            _ => None,
        }
    }

    /// Does [`Type::Dynamic`] occur anywhere in it?
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::Bool | Type::Number | Type::String => false,
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_dynamic(),
            Type::Tuple(items) => items.iter().any(Type::has_dynamic),
            Type::Object(object) => object.attrs().iter().any(|attr| attr.ty.has_dynamic()),
        }
    }

    /// Does an optional attribute occur anywhere in it?
    pub fn has_optional(&self) -> bool {
        match self {
            Type::Dynamic | Type::Bool | Type::Number | Type::String => false,
            Type::List(element) | Type::Set(element) | Type::Map(element) => element.has_optional(),
            Type::Tuple(items) => items.iter().any(Type::has_optional),
            Type::Object(object) => object
                .attrs()
                .iter()
                .any(|attr| attr.optional || attr.ty.has_optional()),
        }
    }

    /// The type with no attribute optional: what values that conform to the constraint have.
    #[must_use]
    pub fn without_optional(&self) -> Type {
        if !self.has_optional() {
            return self.clone();
        }
        match self {
            Type::Dynamic | Type::Bool | Type::Number | Type::String => self.clone(),
            Type::List(element) => Type::list(element.without_optional()),
            Type::Set(element) => Type::set(element.without_optional()),
            Type::Map(element) => Type::map(element.without_optional()),
            Type::Tuple(items) => Type::tuple(items.iter().map(Type::without_optional)),
            Type::Object(object) => Type::object(
                object
                    .attrs()
                    .iter()
                    .map(|attr| (attr.name.clone(), attr.ty.without_optional())),
            ),
        }
    }

    /// The words for people: `string`, `list of number`, `object` (cty `FriendlyName`).
    pub fn friendly_name(&self) -> String {
        match self {
            Type::Dynamic => "dynamic".to_owned(),
            Type::Bool => "bool".to_owned(),
            Type::Number => "number".to_owned(),
            Type::String => "string".to_owned(),
            Type::List(element) => format!("list of {}", element.friendly_name()),
            Type::Set(element) => format!("set of {}", element.friendly_name()),
            Type::Map(element) => format!("map of {}", element.friendly_name()),
            Type::Tuple(_) => "tuple".to_owned(),
            Type::Object(_) => "object".to_owned(),
        }
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As a type constraint is written: `object({a = string, b = optional(number)})`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Dynamic => f.write_str("any"),
            Type::Bool => f.write_str("bool"),
            Type::Number => f.write_str("number"),
            Type::String => f.write_str("string"),
            Type::List(element) => write!(f, "list({element})"),
            Type::Set(element) => write!(f, "set({element})"),
            Type::Map(element) => write!(f, "map({element})"),
            Type::Tuple(items) => {
                f.write_str("tuple([")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str("])")
            }
            Type::Object(object) => {
                f.write_str("object({")?;
                for (at, attr) in object.attrs().iter().enumerate() {
                    write!(f, "{}{} = ", if at > 0 { ", " } else { "" }, attr.name)?;
                    if attr.optional {
                        write!(f, "optional({})", attr.ty)?;
                    } else {
                        write!(f, "{}", attr.ty)?;
                    }
                }
                f.write_str("})")
            }
        }
    }
}
