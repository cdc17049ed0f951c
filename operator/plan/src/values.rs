//! The values that expressions refer to, filled in as the walk goes on.
//!
//! Each local and each resource is made up once and then only cloned (cheaply). An expression is evaluated only after
//! everything it refers to has been filled in; the graph sees to that.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, OnceLock},
};

use ashlar_addr::{InstanceKey, Provider, Resource};
use ashlar_config::Module;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Scope, Subject, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Dialect, Marks, Value, schema::ProviderSchema};

use crate::engine::Schemas;

/// All values of one module.
pub struct Values<'a> {
    module: &'a Module,
    variables: &'a BTreeMap<Arc<str>, Value>,
    locals: HashMap<Arc<str>, OnceLock<Value>>,
    resources: HashMap<Resource, OnceLock<Value>>,
    schemas: &'a Schemas,
    workspace: &'a str,
    applying: bool,
    console: bool,
    caps: &'a dyn Caps,
}

/// What `each` and `count` mean for one instance.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// `count.index`
    pub count_index: Option<Value>,
    /// `each.key` and `each.value`
    pub each: Option<(Value, Value)>,
}

impl<'a> Values<'a> {
    /// Nothing filled in yet.
    pub fn new(
        module: &'a Module,
        variables: &'a BTreeMap<Arc<str>, Value>,
        schemas: &'a Schemas,
        workspace: &'a str,
        applying: bool,
        caps: &'a dyn Caps,
    ) -> Self {
        let locals = module
            .locals
            .keys()
            .map(|name| (name.clone(), OnceLock::new()))
            .collect();
        let resources = module
            .resources
            .keys()
            .map(|resource| (resource.clone(), OnceLock::new()))
            .collect();
        Self {
            module,
            variables,
            locals,
            resources,
            schemas,
            workspace,
            applying,
            console: false,
            caps,
        }
    }

    /// The values of a console, which has functions of its own.
    #[must_use]
    pub(crate) fn for_console(self) -> Self {
        Self {
            console: true,
            ..self
        }
    }

    /// Fills in a local value; the first filling counts.
    pub fn set_local(&self, name: &str, value: Value) {
        if let Some(cell) = self.locals.get(name) {
            let _ = cell.set(value);
        }
    }

    /// Fills in a whole resource; the first filling counts.
    pub fn set_resource(&self, resource: &Resource, value: Value) {
        if let Some(cell) = self.resources.get(resource) {
            let _ = cell.set(value);
        }
    }

    /// A resource's value, if it is filled in.
    pub fn resource(&self, resource: &Resource) -> Option<&Value> {
        self.resources.get(resource)?.get()
    }

    /// The scope of expressions outside any instance.
    pub fn scope(&self) -> InstanceScope<'_> {
        InstanceScope {
            values: self,
            repetition: Repetition::default(),
            this: None,
        }
    }

    /// The scope of one instance's expressions; `this` is what `self` means.
    pub fn instance_scope(&self, repetition: Repetition, this: Option<Value>) -> InstanceScope<'_> {
        InstanceScope {
            values: self,
            repetition,
            this,
        }
    }
}

/// [`Values`] with what is particular to one instance.
pub struct InstanceScope<'a> {
    values: &'a Values<'a>,
    repetition: Repetition,
    this: Option<Value>,
}

impl Scope for InstanceScope<'_> {
    fn check(&self, reference: &Reference<'_>) -> Diags {
        ashlar_config::check_reference(self.values.module, reference)
    }

    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let values = self.values;
        let found = match &reference.subject {
            Subject::Var(name) => values.variables.get(name).cloned(),
            Subject::Local(name) => values.locals.get(name).and_then(|cell| cell.get().cloned()),
            Subject::Resource(resource) => values
                .resources
                .get(resource)
                .and_then(|cell| cell.get().cloned()),
            Subject::Path(name) => match &**name {
                "module" | "root" => Some(Value::string(".")),
                "cwd" => values.caps.cwd().ok().map(Value::string),
                _ => None,
            },
            Subject::Terraform(name) => match &**name {
                "workspace" => Some(Value::string(values.workspace)),
                "applying" => Some(Value::bool(values.applying).with_marks(Marks::EPHEMERAL)),
                _ => None,
            },
            Subject::Each(name) => match (&**name, &self.repetition.each) {
                ("key", Some((key, _))) => Some(key.clone()),
                ("value", Some((_, value))) => Some(value.clone()),
                _ => None,
            },
            Subject::Count(name) if &**name == "index" => self.repetition.count_index.clone(),
            Subject::SelfRef => self.this.clone(),
            _ => None,
        };
        found.ok_or_else(|| unresolved(values, reference))
    }

    fn caps(&self) -> &dyn Caps {
        self.values.caps
    }

    fn dialect(&self) -> Dialect {
        self.values.module.dialect
    }

    fn provider(&self, local: &str) -> Option<(Provider, Arc<ProviderSchema>)> {
        let values = self.values;
        values.module.function_provider(local, values.schemas)
    }

    fn is_console(&self) -> bool {
        self.values.console
    }
}

fn unresolved(values: &Values<'_>, reference: &Reference<'_>) -> Diags {
    let (summary, detail) = match &reference.subject {
        Subject::Var(name) if !values.variables.contains_key(name) => {
            let known = values.variables.keys().map(|known| &**known);
            return undeclared::variable(reference, name, known).into();
        }
        Subject::Local(name) if !values.locals.contains_key(name) => {
            let known = values.module.locals.keys().map(|known| &**known);
            return undeclared::local(reference, name, known).into();
        }
        Subject::Path(name) => return undeclared::path(reference, name).into(),
        Subject::Terraform(name) => return undeclared::terraform(reference, name).into(),
        Subject::Each(_) => (
            "Reference to \"each\" in context without for_each",
            "each.key and each.value exist only in a block that has for_each set.",
        ),
        Subject::Count(_) => (
            "Reference to \"count\" in non-counted context",
            "count.index exists only in a block that has count set.",
        ),
        Subject::SelfRef => (
            "Invalid \"self\" reference",
            "self exists only in postconditions, provisioners and connections of a resource.",
        ),
        _ => (
            "Invalid reference",
            "What this refers to has no value here: it is not declared, or not of a kind that may be referred to from here.",
        ),
    };
    Diag::error(summary, detail).at(reference.span).into()
}

/// A resource's value from those of its instances: by count a tuple, by for_each an object, else the one instance.
/// Instances missing among a count are wholly unknown.
pub fn combine(expansion: &Expansion, mut instances: BTreeMap<InstanceKey, Value>) -> Value {
    match expansion {
        Expansion::Single => instances
            .remove(&InstanceKey::None)
            .unwrap_or_else(Value::dynamic),
        Expansion::Count(count) => {
            let at = |index| {
                instances
                    .remove(&InstanceKey::Int(index))
                    .unwrap_or_else(Value::dynamic)
            };
            Value::tuple((0..*count).map(at).collect())
        }
        Expansion::ForEach(each) => {
            let mut of = |key: &Arc<str>| {
                instances
                    .remove(&InstanceKey::String(key.clone()))
                    .unwrap_or_else(Value::dynamic)
            };
            let attrs: Vec<(Arc<str>, Value)> = each.keys().map(|key| (key.clone(), of(key))).collect();
            Value::object(attrs)
        }
    }
}

/// Which instances a resource has.
#[derive(Clone, Debug)]
pub enum Expansion {
    /// One without a key.
    Single,
    /// So many, by index.
    Count(i64),
    /// By key, with `each.value`.
    ForEach(BTreeMap<Arc<str>, Value>),
}

impl Expansion {
    /// The keys of all instances.
    pub fn keys(&self) -> Vec<InstanceKey> {
        match self {
            Expansion::Single => vec![InstanceKey::None],
            Expansion::Count(count) => (0..*count).map(InstanceKey::Int).collect(),
            Expansion::ForEach(each) => each.keys().map(|key| InstanceKey::String(key.clone())).collect(),
        }
    }

    /// Does an instance with this key exist?
    pub fn contains(&self, key: &InstanceKey) -> bool {
        match (self, key) {
            (Expansion::Single, InstanceKey::None) => true,
            (Expansion::Count(count), InstanceKey::Int(index)) => (0..*count).contains(index),
            (Expansion::ForEach(each), InstanceKey::String(key)) => each.contains_key(key),
            _ => false,
        }
    }

    /// What `each` and `count` mean for the instance with this key.
    pub fn repetition(&self, key: &InstanceKey) -> Repetition {
        match (self, key) {
            (Expansion::Count(_), InstanceKey::Int(index)) => Repetition {
                count_index: Some(Value::number(*index)),
                each: None,
            },
            (Expansion::ForEach(each), InstanceKey::String(key)) => Repetition {
                count_index: None,
                each: each.get(key).map(|value| (Value::string(key), value.clone())),
            },
            _ => Repetition::default(),
        }
    }
}
