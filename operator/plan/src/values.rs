//! The values that expressions refer to, filled in as the walk goes on.
//!
//! Each module instance has its own, made when its call is expanded. Each value is made up once and then only cloned
//! (cheaply). An expression is evaluated only after everything it refers to has been filled in; the graph sees to that.

mod expansion;
mod final_values;
mod module;
mod scope;

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use ashlar_addr::{AbsResource, ConfigResource, Module as ModuleAddr, ModuleInstance};
use ashlar_config::{Member, Tree};
use ashlar_funcs::Caps;
use ashlar_value::Value;

use self::module::Called;
pub use self::{
    expansion::{Expansion, Repetition, combine},
    final_values::FinalValues,
    module::ModuleValues,
    scope::InstanceScope,
};
use crate::engine::Schemas;

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
