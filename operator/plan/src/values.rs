//! The values that expressions refer to, filled in as the walk goes on.
//!
//! Each module instance has its own, made when its call is expanded. Each value is made up once and then only cloned
//! (cheaply). An expression is evaluated only after everything it refers to has been filled in; the graph sees to that.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use ashlar_addr::{
    AbsResource, ConfigResource, InstanceKey, Module as ModuleAddr, ModuleInstance, Provider, Resource,
    ResourceInstance,
};
use ashlar_config::{Member, Tree};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Scope, Subject, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Dialect, Marks, Type, Value, schema::ProviderSchema};

use crate::engine::{Schemas, lock};

/// The values of all module instances.
pub struct Values<'a> {
    common: Common<'a>,
    root: Arc<ModuleValues<'a>>,
    /// The instances of each called module, once its call is expanded.
    expanded: RwLock<HashMap<ModuleAddr, Instances<'a>>>,
}

/// The instances of one module.
pub type Instances<'a> = Arc<[Arc<ModuleValues<'a>>]>;

/// What all modules share.
#[derive(Clone, Copy)]
struct Common<'a> {
    tree: &'a Tree,
    schemas: &'a Schemas,
    workspace: &'a str,
    console: bool,
    caps: &'a dyn Caps,
    /// While applying.
    final_ones: Option<&'a FinalValues>,
}

/// Values of instances as they become final while applying, for what refers to them by their keys and so waits for no other
/// instance of their resource.
#[derive(Default)]
pub struct FinalValues(Mutex<HashMap<AbsResource, FinalInstances>>);

#[derive(Default)]
struct FinalInstances {
    values: BTreeMap<InstanceKey, Value>,
    /// What references see. Made when it is asked for.
    seen: Option<Value>,
}

impl FinalValues {
    /// Keeps the value of an instance.
    pub fn set(&self, address: &ResourceInstance, value: Value) {
        let mut all = lock(&self.0);
        let instances = all.entry(address.resource.clone()).or_default();
        instances.values.insert(address.key.clone(), value);
        instances.seen = None;
    }

    /// The values of a resource's instances, as far as they are final.
    pub fn of(&self, resource: &AbsResource) -> BTreeMap<InstanceKey, Value> {
        let all = lock(&self.0);
        all.get(resource)
            .map_or_else(BTreeMap::new, |instances| instances.values.clone())
    }

    /// Forgets a resource.
    pub fn remove(&self, resource: &AbsResource) {
        lock(&self.0).remove(resource);
    }

    /// What references by key see of a resource: what is not final is not known, and what comes after all that is, not there.
    fn seen(&self, resource: &AbsResource) -> Option<Value> {
        let mut all = lock(&self.0);
        let instances = all.get_mut(resource)?;
        if instances.seen.is_none() {
            let (last, _) = instances.values.last_key_value()?;
            let values = &instances.values;
            instances.seen = Some(match last {
                InstanceKey::None => values.get(last)?.clone(),
                InstanceKey::Int(last) => combine(&Expansion::Count(last.saturating_add(1)), values.clone()),
                InstanceKey::String(_) => {
                    let of = |(key, value): (&InstanceKey, &Value)| match key {
                        InstanceKey::String(key) => Some((key.clone(), value.clone())),
                        _ => None,
                    };
                    Value::object(values.iter().filter_map(of).collect::<Vec<_>>())
                }
            });
        }
        instances.seen.clone()
    }
}

/// The values of one module instance.
pub struct ModuleValues<'a> {
    /// Which instance.
    pub address: ModuleInstance,
    /// The call's instance that it is; nothing for the root module.
    pub repetition: Repetition,
    member: &'a Member,
    common: Common<'a>,
    variables: HashMap<Arc<str>, OnceLock<Value>>,
    locals: HashMap<Arc<str>, OnceLock<Value>>,
    resources: HashMap<Resource, OnceLock<Value>>,
    actions: HashMap<ActionKey, OnceLock<BTreeMap<InstanceKey, Value>>>,
    outputs: BTreeMap<Arc<str>, OnceLock<Value>>,
    /// How many outputs are filled in.
    filled: AtomicUsize,
    calls: HashMap<Arc<str>, OnceLock<Called<'a>>>,
}

/// Type and name of an action.
type ActionKey = (Arc<str>, Arc<str>);

/// A call that has been expanded.
struct Called<'a> {
    expansion: Expansion,
    instances: BTreeMap<InstanceKey, Arc<ModuleValues<'a>>>,
    /// What references see, with the number of outputs that were there when it was made up.
    seen: Mutex<Option<(usize, Value)>>,
}

/// What `each` and `count` mean for one instance.
#[derive(Clone, Debug, Default)]
pub struct Repetition {
    /// `count.index`
    pub count_index: Option<Value>,
    /// `each.key` and `each.value`
    pub each: Option<(Value, Value)>,
}

impl Repetition {
    /// What is known of it by an instance's key alone: that has no `each.value`.
    pub fn of_key(key: &InstanceKey) -> Self {
        match key {
            InstanceKey::None => Self::default(),
            InstanceKey::Int(index) => Self {
                count_index: Some(Value::number(*index)),
                each: None,
            },
            InstanceKey::String(key) => Self {
                count_index: None,
                each: Some((Value::string(key), Value::dynamic())),
            },
        }
    }
}

impl<'a> Values<'a> {
    /// Nothing filled in yet but the root module's variables. `final_ones` is given while applying.
    pub fn new(
        tree: &'a Tree,
        variables: &BTreeMap<Arc<str>, Value>,
        schemas: &'a Schemas,
        workspace: &'a str,
        final_ones: Option<&'a FinalValues>,
        caps: &'a dyn Caps,
    ) -> Self {
        Self::with(tree, variables, schemas, workspace, final_ones, false, caps)
    }

    /// The values of a console, which has functions of its own.
    pub(crate) fn for_console(
        tree: &'a Tree,
        variables: &BTreeMap<Arc<str>, Value>,
        schemas: &'a Schemas,
        workspace: &'a str,
        caps: &'a dyn Caps,
    ) -> Self {
        Self::with(tree, variables, schemas, workspace, None, true, caps)
    }

    fn with(
        tree: &'a Tree,
        variables: &BTreeMap<Arc<str>, Value>,
        schemas: &'a Schemas,
        workspace: &'a str,
        final_ones: Option<&'a FinalValues>,
        console: bool,
        caps: &'a dyn Caps,
    ) -> Self {
        let common = Common {
            tree,
            schemas,
            workspace,
            console,
            caps,
            final_ones,
        };
        let root = ModuleValues::new(
            tree.root_member(),
            ModuleInstance::root(),
            Repetition::default(),
            common,
        );
        for (name, value) in variables {
            root.set_variable(name, value.clone());
        }
        Self {
            common,
            root: Arc::new(root),
            expanded: RwLock::default(),
        }
    }

    /// The root module's variables whose values are not known: nobody could give them any.
    pub(crate) fn lacking(&self) -> Vec<&str> {
        let cells = self.root.variables.iter();
        let unknown = cells.filter(|(_, cell)| cell.get().is_some_and(|value| !value.is_wholly_known()));
        let mut names: Vec<&str> = unknown.map(|(name, _)| &**name).collect();
        names.sort_unstable();
        names
    }

    /// The root module's values.
    pub fn root(&self) -> &Arc<ModuleValues<'a>> {
        &self.root
    }

    /// The instances of a module; none before its call is expanded.
    pub fn instances(&self, module: &ModuleAddr) -> Instances<'a> {
        if module.is_root() {
            return [self.root.clone()].into();
        }
        let expanded = self.expanded.read().unwrap_or_else(PoisonError::into_inner);
        expanded.get(module).cloned().unwrap_or_else(|| Arc::new([]))
    }

    /// One module instance; `None` if its call has no such instance, or is not expanded yet.
    pub fn instance(&self, address: &ModuleInstance) -> Option<Arc<ModuleValues<'a>>> {
        let mut here = self.root.clone();
        for (name, key) in &*address.0 {
            let called = here.calls.get(name)?.get()?;
            let next = called.instances.get(key)?.clone();
            here = next;
        }
        Some(here)
    }

    /// Makes the instances of a called module: for each instance of the calling one those that the call expands to.
    pub fn expand(&self, module: &ModuleAddr, expansions: Vec<(Arc<ModuleValues<'a>>, Expansion)>) {
        let Some((name, member)) = module.0.last().zip(self.common.tree.members.get(module)) else {
            return;
        };
        let mut all = Vec::new();
        for (caller, expansion) in expansions {
            let instances: BTreeMap<_, _> = expansion
                .keys()
                .into_iter()
                .map(|key| {
                    let address = caller.address.child(name.clone(), key.clone());
                    let repetition = expansion.repetition(&key);
                    let values = ModuleValues::new(member, address, repetition, self.common);
                    (key, Arc::new(values))
                })
                .collect();
            all.extend(instances.values().cloned());
            if let Some(cell) = caller.calls.get(name) {
                let _ = cell.set(Called {
                    expansion,
                    instances,
                    seen: Mutex::default(),
                });
            }
        }
        let mut expanded = self.expanded.write().unwrap_or_else(PoisonError::into_inner);
        expanded.insert(module.clone(), all.into());
    }

    /// A module instance in which nothing is filled in, for what refers to its own object alone: the instance may be gone.
    pub fn bare(&self, member: &'a Member, address: ModuleInstance) -> ModuleValues<'a> {
        ModuleValues::new(member, address, Repetition::default(), self.common)
    }

    /// Is there such an instance of the resource's module?
    pub fn has_module_of(&self, resource: &AbsResource) -> bool {
        self.instance(&resource.module).is_some()
    }

    /// Where a resource is, in each instance of its module.
    pub fn places(&self, resource: &ConfigResource) -> Vec<(Arc<ModuleValues<'a>>, AbsResource)> {
        let instances = self.instances(&resource.module);
        let at = |module: &Arc<ModuleValues<'a>>| {
            let address = resource.resource.within(module.address.clone());
            (module.clone(), address)
        };
        instances.iter().map(at).collect()
    }
}

impl<'a> ModuleValues<'a> {
    fn new(member: &'a Member, address: ModuleInstance, repetition: Repetition, common: Common<'a>) -> Self {
        fn cells<'k, K: Clone + 'k, V, C: FromIterator<(K, OnceLock<V>)>>(
            keys: impl Iterator<Item = &'k K>,
        ) -> C {
            keys.map(|key| (key.clone(), OnceLock::new())).collect()
        }
        let module = &member.module;
        Self {
            address,
            repetition,
            member,
            common,
            variables: cells(module.variables.keys()),
            locals: cells(module.locals.keys()),
            resources: cells(module.resources.keys()),
            actions: cells(module.actions.keys()),
            outputs: cells(module.outputs.keys()),
            filled: AtomicUsize::new(0),
            calls: cells(module.calls.keys()),
        }
    }

    /// What the module's files declare.
    pub fn module(&self) -> &'a ashlar_config::Module {
        &self.member.module
    }

    /// Fills in a variable; the first filling counts.
    pub fn set_variable(&self, name: &str, value: Value) {
        if let Some(cell) = self.variables.get(name) {
            let _ = cell.set(value);
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

    /// Fills in the configurations of an action's instances; the first filling counts.
    pub(crate) fn set_action(&self, kind: &Arc<str>, name: &Arc<str>, configs: BTreeMap<InstanceKey, Value>) {
        if let Some(cell) = self.actions.get(&(kind.clone(), name.clone())) {
            let _ = cell.set(configs);
        }
    }

    /// The configurations of an action's instances, if they are filled in. No expression refers to them.
    pub fn action(&self, kind: &Arc<str>, name: &Arc<str>) -> Option<&BTreeMap<InstanceKey, Value>> {
        self.actions.get(&(kind.clone(), name.clone()))?.get()
    }

    /// Fills in what the calling module sees of an output; the first filling counts.
    pub fn set_output(&self, name: &str, value: Value) {
        if let Some(cell) = self.outputs.get(name)
            && cell.set(value).is_ok()
        {
            self.filled.fetch_add(1, Ordering::Release);
        }
    }

    /// A resource's value, if it is filled in.
    pub fn resource(&self, resource: &Resource) -> Option<&Value> {
        self.resources.get(resource)?.get()
    }

    /// What is final of a resource that is not filled in yet. Where nothing is, as in an instance of the module that has none of the
    /// instances that were waited for, what is not final is not there.
    fn final_part(&self, resource: &Resource) -> Option<Value> {
        let address = resource.within(self.address.clone());
        self.common.final_ones?.seen(&address).or_else(|| {
            let config = self.module().resources.get(resource)?;
            if config.for_each.is_some() {
                return Some(Value::object(Vec::<(Arc<str>, Value)>::new()));
            }
            config.count.as_ref().map(|_| Value::tuple(Vec::new()))
        })
    }

    /// The scope of expressions outside any instance.
    pub fn scope(&self) -> InstanceScope<'_, 'a> {
        self.instance_scope(Repetition::default(), None)
    }

    /// The scope of one instance's expressions; `this` is what `self` means.
    pub fn instance_scope(&self, repetition: Repetition, this: Option<Value>) -> InstanceScope<'_, 'a> {
        InstanceScope {
            values: self,
            repetition,
            this,
            absent: false,
        }
    }

    /// The scope of the conditions of an instance that could not be made, so that `self` means nothing.
    pub(crate) fn scope_of_absent(&self, repetition: Repetition) -> InstanceScope<'_, 'a> {
        InstanceScope {
            absent: true,
            ..self.instance_scope(repetition, None)
        }
    }

    /// Has a call of the module been expanded?
    pub fn has_expanded(&self, call: &str) -> bool {
        self.calls.get(call).is_some_and(|cell| cell.get().is_some())
    }

    /// What references to a call see: its outputs, by instance.
    fn called(&self, name: &str) -> Option<Value> {
        let called = self.calls.get(name)?.get()?;
        let filled = |module: &Arc<ModuleValues<'a>>| module.filled.load(Ordering::Acquire);
        let count: usize = called.instances.values().map(filled).sum();
        let mut seen = lock(&called.seen);
        if let Some((before, value)) = &*seen
            && *before == count
        {
            return Some(value.clone());
        }
        let of = |module: &Arc<ModuleValues<'a>>| {
            // One that is not filled in yet is none that is asked for.
            let output = |(name, cell): (&Arc<str>, &OnceLock<Value>)| {
                (name.clone(), cell.get().cloned().unwrap_or_else(Value::dynamic))
            };
            Value::object(module.outputs.iter().map(output).collect::<Vec<_>>())
        };
        let instances = called
            .instances
            .iter()
            .map(|(key, module)| (key.clone(), of(module)))
            .collect();
        let value = combine(&called.expansion, instances);
        *seen = Some((count, value.clone()));
        Some(value)
    }
}

/// The values of a module with what is particular to one instance of something in it.
pub struct InstanceScope<'v, 'a> {
    values: &'v ModuleValues<'a>,
    repetition: Repetition,
    this: Option<Value>,
    absent: bool,
}

impl Scope for InstanceScope<'_, '_> {
    fn check(&self, reference: &Reference<'_>) -> Diags {
        ashlar_config::check_reference(self.values.module(), reference)
    }

    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let values = self.values;
        let found = match &reference.subject {
            Subject::Var(name) => values.variables.get(name).and_then(|cell| cell.get().cloned()),
            Subject::Local(name) => values.locals.get(name).and_then(|cell| cell.get().cloned()),
            Subject::Resource(resource) => values
                .resource(resource)
                .cloned()
                .or_else(|| values.final_part(resource)),
            Subject::Module { call, .. } => values.called(call),
            Subject::Path(name) => match &**name {
                "module" => Some(Value::string(&values.member.folder)),
                "root" => Some(Value::string(".")),
                "cwd" => values.common.caps.cwd().ok().map(Value::string),
                _ => None,
            },
            Subject::Terraform(name) => match &**name {
                "workspace" => Some(Value::string(values.common.workspace)),
                "applying" => {
                    let applying = values.common.final_ones.is_some();
                    Some(Value::bool(applying).with_marks(Marks::EPHEMERAL))
                }
                _ => None,
            },
            Subject::Each(name) => match (&**name, &self.repetition.each) {
                ("key", Some((key, _))) => Some(key.clone()),
                ("value", Some((_, value))) => Some(value.clone()),
                _ => None,
            },
            Subject::Count(name) if &**name == "index" => self.repetition.count_index.clone(),
            Subject::SelfRef if self.absent => {
                let detail = "The instance that self means here could not be made, so there is none.";
                return Err(Diag::error("Invalid index", detail).at(reference.span).into());
            }
            Subject::SelfRef => self.this.clone(),
            _ => None,
        };
        found.ok_or_else(|| unresolved(values, reference))
    }

    fn caps(&self) -> &dyn Caps {
        self.values.common.caps
    }

    fn dialect(&self) -> Dialect {
        self.values.module().dialect
    }

    fn provider(&self, local: &str) -> Option<(Provider, Arc<ProviderSchema>)> {
        let values = self.values;
        values.module().function_provider(local, values.common.schemas)
    }

    fn is_console(&self) -> bool {
        self.values.common.console
    }
}

fn unresolved(values: &ModuleValues<'_>, reference: &Reference<'_>) -> Diags {
    let (summary, detail) = match &reference.subject {
        Subject::Var(name) if !values.variables.contains_key(name) => {
            let known = values.variables.keys().map(|known| &**known);
            return undeclared::variable(reference, name, known).into();
        }
        Subject::Local(name) if !values.locals.contains_key(name) => {
            let known = values.locals.keys().map(|known| &**known);
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
/// Instances missing among a count are wholly unknown; what is switched off is null.
pub fn combine(expansion: &Expansion, mut instances: BTreeMap<InstanceKey, Value>) -> Value {
    match expansion {
        Expansion::Switched(false) => Value::null(Type::Dynamic),
        Expansion::Single | Expansion::Switched(true) => instances
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
    /// One without a key, or none.
    Switched(bool),
    /// So many, by index.
    Count(i64),
    /// By key, with `each.value`.
    ForEach(BTreeMap<Arc<str>, Value>),
}

impl Expansion {
    /// The keys of all instances.
    pub fn keys(&self) -> Vec<InstanceKey> {
        match self {
            Expansion::Single | Expansion::Switched(true) => vec![InstanceKey::None],
            Expansion::Switched(false) => Vec::new(),
            Expansion::Count(count) => (0..*count).map(InstanceKey::Int).collect(),
            Expansion::ForEach(each) => each.keys().map(|key| InstanceKey::String(key.clone())).collect(),
        }
    }

    /// Does an instance with this key exist?
    pub fn contains(&self, key: &InstanceKey) -> bool {
        match (self, key) {
            (Expansion::Single | Expansion::Switched(true), InstanceKey::None) => true,
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
