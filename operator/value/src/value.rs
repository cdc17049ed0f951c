//! The value itself.

use std::{collections::BTreeMap, fmt, ops::Deref, sync::Arc};

use unicode_normalization::{UnicodeNormalization, is_nfc_quick};

use crate::{Marks, Number, Refinement, Type};

/// An immutable value with its marks. Cloning is cheap. `==` is cty's RawEquals: type, content, marks and refinements.
#[derive(Clone, PartialEq)]
pub struct Value {
    data: Data,
    marks: Marks,
}

/// What a value holds. Build it through the constructors of [`Value`], which keep the invariants: strings and keys in
/// NFC, elements of one type, set elements distinct, unmarked and in cty's order.
#[derive(Clone, PartialEq)]
pub enum Data {
    /// Null of a type.
    Null(Type),
    /// Not known yet; the type may be dynamic. `None` where nothing more is known.
    Unknown(Type, Option<Arc<Refinement>>),
    /// A truth value.
    Bool(bool),
    /// A number.
    Number(Number),
    /// Text in NFC.
    String(Arc<str>),
    /// Element type and elements.
    List(Type, Arc<Items>),
    /// Element type and elements in cty's order.
    Set(Type, Arc<Items>),
    /// Element type and elements by key.
    Map(Type, Arc<Entries>),
    /// Elements, each of its own type.
    Tuple(Arc<Items>),
    /// Attributes by name, each of its own type.
    Object(Arc<Entries>),
}

/// Elements of a list, set or tuple, knowing at no cost how large they are and whether something inside is marked or
/// unknown.
#[derive(PartialEq)]
pub struct Items {
    values: Vec<Value>,
    inside: Inside,
}

/// Elements of a map or object by key, knowing at no cost how large they are and whether something inside is marked or
/// unknown.
#[derive(PartialEq)]
pub struct Entries {
    values: BTreeMap<Arc<str>, Value>,
    inside: Inside,
}

/// Facts about the whole tree below.
#[derive(Clone, Copy, Default, PartialEq)]
struct Inside {
    marks: Marks,
    unknown: bool,
    weight: u64,
}

impl Inside {
    fn of<'a>(values: impl Iterator<Item = &'a Value>) -> Self {
        values.fold(Self::default(), |inside, value| Self {
            marks: inside.marks.union(value.marks_deep()),
            unknown: inside.unknown || !value.is_wholly_known(),
            weight: inside.weight.saturating_add(value.weight()),
        })
    }
}

impl Items {
    fn new(values: Vec<Value>) -> Arc<Self> {
        let inside = Inside::of(values.iter());
        Arc::new(Self { values, inside })
    }
}

impl Deref for Items {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.values
    }
}

impl Entries {
    fn new(values: BTreeMap<Arc<str>, Value>) -> Arc<Self> {
        let mut inside = Inside::of(values.values());
        let keys: u64 = values.keys().map(|key| key.len() as u64).sum();
        inside.weight = inside.weight.saturating_add(keys);
        Arc::new(Self { values, inside })
    }
}

impl Items {
    /// The weights of all elements.
    pub(crate) fn weight(&self) -> u64 {
        self.inside.weight
    }
}

impl Entries {
    /// The weights of all keys and elements.
    pub(crate) fn weight(&self) -> u64 {
        self.inside.weight
    }
}

impl Deref for Entries {
    type Target = BTreeMap<Arc<str>, Value>;

    fn deref(&self) -> &BTreeMap<Arc<str>, Value> {
        &self.values
    }
}

/// The text in NFC.
pub(crate) fn nfc(text: &str) -> Arc<str> {
    if is_nfc_quick(text.chars()) == unicode_normalization::IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

impl From<Data> for Value {
    fn from(data: Data) -> Self {
        Self {
            data,
            marks: Marks::NONE,
        }
    }
}

/// Constructors.
impl Value {
    /// Null of a type.
    pub fn null(ty: Type) -> Self {
        Data::Null(ty).into()
    }

    /// Wholly unknown value of a type.
    pub fn unknown(ty: Type) -> Self {
        Data::Unknown(ty, None).into()
    }

    /// A value of which not even the type is known.
    pub fn dynamic() -> Self {
        Self::unknown(Type::Dynamic)
    }

    /// A truth value.
    pub fn bool(value: bool) -> Self {
        Data::Bool(value).into()
    }

    /// A number.
    pub fn number(value: impl Into<Number>) -> Self {
        Data::Number(value.into()).into()
    }

    /// Text, normalised to NFC.
    pub fn string(text: impl AsRef<str>) -> Self {
        Data::String(nfc(text.as_ref())).into()
    }

    /// The empty value of a list, set, map, tuple or object type; null of a type that has none.
    pub fn empty(ty: &Type) -> Self {
        match ty {
            Type::List(element) => Self::list(Type::clone(element), Vec::new()),
            Type::Set(element) => Self::set(Type::clone(element), Vec::new()),
            Type::Map(element) => Self::map_of(Type::clone(element), BTreeMap::new()),
            Type::Tuple(items) if items.is_empty() => Self::tuple(Vec::new()),
            Type::Object(object) if object.attrs().is_empty() => Self::object_of(BTreeMap::new()),
            _ => Self::null(ty.clone()),
        }
    }

    /// A list; each element must have the type `element` (values are not converted here).
    pub fn list(element: Type, items: Vec<Value>) -> Self {
        Data::List(element, Items::new(items)).into()
    }

    /// A set; equal elements are joined, marks inside move to the whole set, as in cty.
    pub fn set(element: Type, items: Vec<Value>) -> Self {
        let (items, marks) = crate::ops::set_elements(items);
        Value {
            data: Data::Set(element, Items::new(items)),
            marks,
        }
    }

    /// A map; keys are normalised to NFC, of equal keys the last one counts.
    pub fn map<K: AsRef<str>>(element: Type, entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (nfc(key.as_ref()), value))
            .collect();
        Data::Map(element, Entries::new(entries)).into()
    }

    /// A map whose keys are in NFC already.
    pub fn map_of(element: Type, entries: BTreeMap<Arc<str>, Value>) -> Self {
        Data::Map(element, Entries::new(entries)).into()
    }

    /// A tuple.
    pub fn tuple(items: Vec<Value>) -> Self {
        Data::Tuple(Items::new(items)).into()
    }

    /// An object; names are normalised to NFC, of equal names the last one counts.
    pub fn object<K: AsRef<str>>(attrs: impl IntoIterator<Item = (K, Value)>) -> Self {
        let attrs = attrs
            .into_iter()
            .map(|(name, value)| (nfc(name.as_ref()), value))
            .collect();
        Data::Object(Entries::new(attrs)).into()
    }

    /// An object whose names are in NFC already.
    pub fn object_of(attrs: BTreeMap<Arc<str>, Value>) -> Self {
        Data::Object(Entries::new(attrs)).into()
    }
}

/// What it is.
impl Value {
    /// The content without its marks. Whoever shows it must have asked [`Value::marks`] first.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// Its type; built on demand for tuples and objects.
    pub fn ty(&self) -> Type {
        match &self.data {
            Data::Null(ty) | Data::Unknown(ty, _) => ty.clone(),
            Data::Bool(_) => Type::Bool,
            Data::Number(_) => Type::Number,
            Data::String(_) => Type::String,
            Data::List(element, _) => Type::list(element.clone()),
            Data::Set(element, _) => Type::set(element.clone()),
            Data::Map(element, _) => Type::map(element.clone()),
            Data::Tuple(items) => Type::tuple(items.iter().map(Value::ty)),
            Data::Object(attrs) => Type::object(attrs.iter().map(|(name, value)| (name.clone(), value.ty()))),
        }
    }

    /// Is it null? (An unknown value is not, though it may become null.)
    pub fn is_null(&self) -> bool {
        matches!(self.data, Data::Null(_))
    }

    /// Is it known itself, whatever stands inside?
    pub fn is_known(&self) -> bool {
        !matches!(self.data, Data::Unknown(..))
    }

    /// Is it known with all that stands inside? Constant time.
    pub fn is_wholly_known(&self) -> bool {
        match &self.data {
            Data::Unknown(..) => false,
            Data::Null(_) | Data::Bool(_) | Data::Number(_) | Data::String(_) => true,
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => !items.inside.unknown,
            Data::Map(_, entries) | Data::Object(entries) => !entries.inside.unknown,
        }
    }

    /// Can it certainly never be null?
    pub fn is_not_null(&self) -> bool {
        match &self.data {
            Data::Null(_) => false,
            Data::Unknown(_, refinement) => refinement.as_ref().is_some_and(|refinement| refinement.not_null),
            _ => true,
        }
    }

    /// The refinement of an unknown value.
    pub fn refinement(&self) -> Option<&Refinement> {
        match &self.data {
            Data::Unknown(_, refinement) => refinement.as_deref(),
            _ => None,
        }
    }

    /// The truth value, if it is a known one.
    pub fn as_bool(&self) -> Option<bool> {
        match &self.data {
            Data::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if it is a known one.
    pub fn as_number(&self) -> Option<&Number> {
        match &self.data {
            Data::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The text, if it is known text.
    pub fn as_str(&self) -> Option<&Arc<str>> {
        match &self.data {
            Data::String(text) => Some(text),
            _ => None,
        }
    }

    /// The elements of a known list, set or tuple, in order.
    pub fn as_items(&self) -> Option<&[Value]> {
        match &self.data {
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => Some(items),
            _ => None,
        }
    }

    /// The elements of a known map or object by key.
    pub fn as_entries(&self) -> Option<&BTreeMap<Arc<str>, Value>> {
        match &self.data {
            Data::Map(_, entries) | Data::Object(entries) => Some(entries),
            _ => None,
        }
    }

    /// An attribute of a known object, with the object's marks added.
    pub fn attr(&self, name: &str) -> Option<Value> {
        match &self.data {
            Data::Object(attrs) => attrs.get(name).map(|value| value.clone().with_marks(self.marks)),
            _ => None,
        }
    }
}

/// Marks.
impl Value {
    /// The marks of the value itself.
    pub fn marks(&self) -> Marks {
        self.marks
    }

    /// The marks of the value and of all that stands inside. Constant time.
    pub fn marks_deep(&self) -> Marks {
        let inside = match &self.data {
            Data::List(_, items) | Data::Set(_, items) | Data::Tuple(items) => items.inside.marks,
            Data::Map(_, entries) | Data::Object(entries) => entries.inside.marks,
            _ => Marks::NONE,
        };
        self.marks.union(inside)
    }

    /// The value with these marks added to its own.
    #[must_use]
    pub fn with_marks(mut self, marks: Marks) -> Self {
        self.marks = self.marks.union(marks);
        self
    }

    /// The value with exactly these marks on itself.
    #[must_use]
    pub fn with_only_marks(mut self, marks: Marks) -> Self {
        self.marks = marks;
        self
    }

    /// The value without its own marks, and those marks.
    pub fn unmark(mut self) -> (Self, Marks) {
        let marks = std::mem::take(&mut self.marks);
        (self, marks)
    }

    /// The value without any mark inside or out, and all marks there were.
    pub fn unmark_deep(self) -> (Self, Marks) {
        let marks = self.marks_deep();
        if marks.is_empty() {
            return (self, marks);
        }
        (self.map_marks(&mut |_| Marks::NONE), marks)
    }

    /// The value with the marks of each part, inside first, replaced by what `change` gives.
    #[must_use]
    pub fn map_marks(self, change: &mut dyn FnMut(Marks) -> Marks) -> Self {
        let data = match &self.data {
            Data::List(element, items) if !items.inside.marks.is_empty() => Data::List(
                element.clone(),
                Items::new(items.iter().map(|item| item.clone().map_marks(change)).collect()),
            ),
            Data::Tuple(items) if !items.inside.marks.is_empty() => Data::Tuple(Items::new(
                items.iter().map(|item| item.clone().map_marks(change)).collect(),
            )),
            Data::Map(element, entries) if !entries.inside.marks.is_empty() => Data::Map(
                element.clone(),
                Entries::new(
                    entries
                        .iter()
                        .map(|(key, value)| (key.clone(), value.clone().map_marks(change)))
                        .collect(),
                ),
            ),
            Data::Object(entries) if !entries.inside.marks.is_empty() => Data::Object(Entries::new(
                entries
                    .iter()
                    .map(|(key, value)| (key.clone(), value.clone().map_marks(change)))
                    .collect(),
            )),
            other => other.clone(),
        };
        Value {
            data,
            marks: change(self.marks),
        }
    }
}

/// Shows structure, never what a marked value holds.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.marks.contains(crate::Mark::Sensitive) {
            return f.write_str("(sensitive value)");
        }
        if self.marks.contains(crate::Mark::Ephemeral) {
            return f.write_str("(ephemeral value)");
        }
        match &self.data {
            Data::Null(ty) => write!(f, "null({ty})"),
            Data::Unknown(ty, None) => write!(f, "unknown({ty})"),
            Data::Unknown(ty, Some(refinement)) => write!(f, "unknown({ty}, {refinement:?})"),
            Data::Bool(value) => write!(f, "{value}"),
            Data::Number(number) => write!(f, "{number}"),
            Data::String(text) => write!(f, "{text:?}"),
            Data::List(_, items) => write!(f, "list{:?}", &***items),
            Data::Set(_, items) => write!(f, "set{:?}", &***items),
            Data::Tuple(items) => write!(f, "{:?}", &***items),
            Data::Map(_, entries) => write!(f, "map{:?}", &***entries),
            Data::Object(entries) => write!(f, "{:?}", &***entries),
        }
    }
}
