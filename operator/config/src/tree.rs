//! The tree of modules: the root module and all that are called, each with its own copy of what its files declare.
//!
//! Fetching is the caller's business ([`Library`]); everything known without it is decided here.
//! Rules: Terraform `configs/config_build.go`, `terraform/node_module_install.go`.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use ashlar_addr::{
    ConfigAction, ConfigResource, Constraints, LocalProvider, Module as ModuleAddr, Provider, ProviderConfig,
};
use ashlar_diag::{Diag, Diags, FileId, Sources, Span};
use ashlar_eval::{Given, arguments_of_call};
use ashlar_funcs::Caps;
use ashlar_syntax::Expr;
use ashlar_value::{Dialect, Value};

use crate::{
    Input, InputValue, Module,
    early::{Constants, Early},
    load::{Files, read_module},
    model::{ActionConfig, ModuleCall, ProviderBlock, Removed, ResourceConfig},
    passing,
    source::ModuleSource,
    terraform_block::core_version_faults,
};

/// More modules than any configuration has: one whose folders lead into each other has no end of them.
const MOST_MODULES: usize = 20_000;

/// Deeper calls are a configuration that calls itself in a way that cannot be seen.
const DEEPEST: usize = 64;

/// A called module that is to be found.
pub struct ModuleRequest<'a> {
    /// The call.
    pub path: &'a ModuleAddr,
    /// Where it is.
    pub source: &'a ModuleSource,
    /// Which versions will do.
    pub version: &'a Constraints,
    /// The folder of the calling module, as [`FoundModule::folder`] has it.
    pub from: &'a str,
    /// The place of the source.
    pub span: Span,
}

/// A called module that was found.
pub struct FoundModule {
    /// Its folder: what `path.module` is, and what stands in front of its files' names.
    pub folder: Arc<str>,
    /// Its files.
    pub files: Files,
}

/// Where called modules come from.
pub trait Library {
    /// Finds a module; with a diagnostic if it cannot.
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags>;

    /// What functions read that tell where modules are, if there is anything at hand for them.
    fn files(&self) -> Option<Arc<dyn Caps>> {
        None
    }
}

/// No module can be called.
impl Library for () {
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let detail = format!("The module {} is not at hand.", request.source);
        Err(Diag::error("Module not installed", detail)
            .at(request.span)
            .into())
    }
}

/// A module and where it stands.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// What its files declare, provider configurations resolved.
    pub module: Module,
    /// Its folder: the value of `path.module`.
    pub folder: Arc<str>,
    /// Where the call looks for it, with values of variables put in; empty of the root module.
    pub source: Arc<str>,
}

/// A whole configuration.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// By path; the root module is always there.
    pub members: BTreeMap<ModuleAddr, Member>,
}

impl Tree {
    /// The root module.
    pub fn root(&self) -> &Module {
        &self.root_member().module
    }

    /// The root module and where it stands.
    pub fn root_member(&self) -> &Member {
        static NONE: std::sync::LazyLock<Member> = std::sync::LazyLock::new(Member::default);
        self.members.get(&ModuleAddr::root()).unwrap_or(&NONE)
    }

    /// What declares a resource.
    pub fn resource(&self, resource: &ConfigResource) -> Option<&ResourceConfig> {
        let member = self.members.get(&resource.module)?;
        member.module.resources.get(&resource.resource)
    }

    /// What declares an action.
    pub fn action(&self, action: &ConfigAction) -> Option<&ActionConfig> {
        let member = self.members.get(&action.module)?;
        let key = (action.kind.clone(), action.name.clone());
        member.module.actions.get(&key)
    }

    /// The `removed` block about a resource itself, and the module that it stands in; a calling module's comes first.
    pub fn removed(&self, resource: &ConfigResource) -> Option<(&Member, &Removed)> {
        self.members.iter().find_map(|(path, member)| {
            let about = |removed: &&Removed| {
                let inside = resource.module.0.strip_prefix(&*path.0);
                removed.resource.as_ref() == Some(&resource.resource) && inside == Some(&*removed.module.0)
            };
            let removed = member.module.removed.iter().find(about)?;
            Some((member, removed))
        })
    }

    /// The block that makes a provider configuration, if there is one.
    pub fn provider_block(&self, config: &ProviderConfig) -> Option<&ProviderBlock> {
        self.members.get(&config.module)?.module.own_block(config)
    }

    /// What the call of a module gives to its variables, by their names.
    pub fn arguments(&self, path: &ModuleAddr) -> BTreeMap<Arc<str>, &Expr> {
        let (Some((_, call)), Some(member)) = (self.call(path), self.members.get(path)) else {
            return BTreeMap::new();
        };
        arguments_of_call(&call.body, call.open, member.module.variables.values()).0
    }

    /// Every provider that some module needs, with all that is asked of its version.
    pub fn requirements(&self) -> BTreeMap<Provider, Constraints> {
        let mut all = BTreeMap::<Provider, Constraints>::new();
        for member in self.members.values() {
            for (provider, constraints) in member.module.requirements() {
                let before = all.entry(provider).or_default();
                *before = std::mem::take(before).and(&constraints);
            }
        }
        all
    }

    /// The provider configuration for a resource that is imported into and declared nowhere.
    pub fn provider_of_made_up(&self, resource: &ConfigResource) -> Option<ProviderConfig> {
        let root = self.root();
        let (local, _) = root
            .made_up()
            .find(|(_, own)| resource.module.is_root() && **own == resource.resource)?;
        Some(ProviderConfig {
            module: ModuleAddr::root(),
            provider: root.source_of(&local.name),
            alias: local.alias,
            key: ashlar_addr::InstanceKey::None,
        })
    }

    /// The call that a module is the callee of, with the calling module's path.
    pub fn call(&self, path: &ModuleAddr) -> Option<(ModuleAddr, &ModuleCall)> {
        let (name, parent) = path.0.split_last()?;
        let parent = ModuleAddr(parent.into());
        let call = self.members.get(&parent)?.module.calls.get(name)?;
        Some((parent, call))
    }
}

/// Loads a configuration, in the language of the dialect: the root module from its files, called modules from the library. `given`: values for the root
/// module's constant variables. With errors the tree is what could be read, and not fit to be planned.
pub fn load(
    files: Files,
    dialect: Dialect,
    given: &BTreeMap<Arc<str>, Input>,
    library: &mut dyn Library,
    sources: &mut Sources,
) -> (Tree, Diags) {
    // Files in folders belong to other modules.
    let files = files
        .into_iter()
        .filter(|(name, _)| !name.contains('/'))
        .collect();
    let mut known = HashMap::new();
    let (module, mut diags) = read_module(files, dialect, sources, &mut known);
    let mut tree = Tree::default();
    let root = Member {
        source: Arc::default(),
        module,
        folder: ".".into(),
    };
    if diags.has_errors() {
        tree.members.insert(ModuleAddr::root(), root);
        return (tree, diags);
    }
    diags.extend(root.module.backend_faults.clone());
    diags.extend(core_version_faults(&root.module));
    let mut loading = Loading {
        library,
        sources,
        known,
        members: BTreeMap::new(),
        instances: Vec::new(),
        diags,
    };
    let constants = root_constants(&root.module, given, loading.sources, &mut loading.diags);
    let early = Early::new(&root.module, &constants, &root.folder, loading.library.files());
    for argument in &root.module.backend_arguments {
        loading.diags.extend(early.static_faults(&argument.expr));
    }
    loading.calls(
        &ModuleAddr::root(),
        &root,
        &constants,
        &mut vec![root.folder.clone()],
    );
    loading.members.insert(ModuleAddr::root(), root);
    tree.members = loading.members;
    for (path, local, instances) in loading.instances {
        let member = tree.members.get_mut(&path);
        if let Some(block) = member.and_then(|member| member.module.providers.get_mut(&local)) {
            block.instances = Some(instances);
        }
    }
    let mut diags = loading.diags;
    let sound = !diags.has_errors();
    let told = passing::check(&tree);
    if sound {
        diags.extend(told);
    }
    diags.extend(passing::resolve(&mut tree, diags.has_errors()));
    (tree, diags)
}

/// The values that the root module's early variables have. One that is not given, or not of the variable's type, is not known.
fn root_constants(
    module: &Module,
    given: &BTreeMap<Arc<str>, Input>,
    sources: &mut Sources,
    diags: &mut Diags,
) -> Constants {
    let mut constants = Constants::new();
    let early = module.variables.iter();
    for (name, variable) in early.filter(|(_, variable)| is_early(module, variable)) {
        let given = given.get(name).map(|input| match &input.value {
            InputValue::Value(value, place) => (value.clone(), *place, Diags::new()),
            InputValue::Text(text) => {
                let (value, faults) = variable.parse_text(text, sources);
                (value, None, faults)
            }
        });
        let Some((value, place, mut faults)) = given else {
            constants.extend(variable.default.clone().map(|value| (name.clone(), value)));
            continue;
        };
        let (value, more) = variable.value(Some(&Given { value, place }));
        faults.extend(more);
        // What is worth a warning is told when the variables are resolved.
        if faults.has_errors() {
            diags.extend(faults);
        } else {
            constants.insert(name.clone(), value);
        }
    }
    constants
}

/// Is the variable's value known while modules are loaded? In OpenTofu any may be.
fn is_early(module: &Module, variable: &ashlar_eval::Variable) -> bool {
    variable.constant || module.dialect == Dialect::OpenTofu && !variable.never_constant
}

struct Loading<'l> {
    library: &'l mut dyn Library,
    sources: &'l mut Sources,
    /// The files read, by name.
    known: HashMap<Arc<str>, FileId>,
    members: BTreeMap<ModuleAddr, Member>,
    /// What repeated provider configurations are repeated for.
    instances: Vec<(ModuleAddr, LocalProvider, BTreeMap<Arc<str>, Value>)>,
    diags: Diags,
}

impl Loading<'_> {
    /// Loads all modules that one calls. `above`: its own folder and those of the modules that call it.
    fn calls(
        &mut self,
        path: &ModuleAddr,
        caller: &Member,
        constants: &Constants,
        above: &mut Vec<Arc<str>>,
    ) {
        let early = Early::new(&caller.module, constants, &caller.folder, self.library.files());
        let circles = early.circles(path);
        if circles.has_errors() {
            return self.diags.extend(circles);
        }
        for (local, block) in &caller.module.providers {
            let Some(for_each) = &block.for_each else { continue };
            let (instances, faults) = early.for_each(for_each);
            self.diags.extend(faults);
            if let Some(instances) = instances {
                self.instances.push((path.clone(), local.clone(), instances));
            }
        }
        for (name, call) in &caller.module.calls {
            let path = path.child(name.clone());
            let Some(expr) = &call.source else { continue };
            // What a call cannot be given is told once all calls are seen.
            if early.prepare(call) && caller.module.dialect == Dialect::Terraform {
                continue;
            }
            let found = self.find(&early, &path, call, expr, above);
            let Some((member, constants)) = self.diags.take(found) else {
                continue;
            };
            above.push(member.folder.clone());
            self.calls(&path, &member, &constants, above);
            above.pop();
            self.members.insert(path, member);
        }
        // OpenTofu tells of them where they are used, or when everything is evaluated.
        if caller.module.dialect == Dialect::Terraform {
            self.diags.extend(early.faults());
        }
    }

    fn find(
        &mut self,
        early: &Early<'_>,
        path: &ModuleAddr,
        call: &ModuleCall,
        expr: &ashlar_syntax::Expr,
        above: &[Arc<str>],
    ) -> Result<(Member, Constants), Diags> {
        let version = call
            .version
            .as_ref()
            .map(|version| early.version(version))
            .transpose()?;
        let version = version.unwrap_or_default();
        let source = early.source(expr, !version.is_empty())?;
        let request = ModuleRequest {
            path,
            source: &source,
            version: &version,
            from: early.folder,
            span: expr.span,
        };
        if self.members.len() >= MOST_MODULES {
            let detail = format!("There are more than {MOST_MODULES} modules.");
            return Err(Diag::error("Too many modules", detail).at(expr.span).into());
        }
        let endless = |what: &str| {
            let detail = format!("{what} is called from inside itself, so there would be no end of modules.");
            Diags::from(Diag::error("Module calls itself", detail).at(expr.span))
        };
        // Before it is looked for: whoever fetches would fetch without end.
        if above.len() > DEEPEST {
            return Err(endless(&source.to_string()));
        }
        let found = self.library.find(&request)?;
        if above.contains(&found.folder) {
            return Err(endless(&found.folder));
        }
        let (module, faults) = read_module(found.files, early.module.dialect, self.sources, &mut self.known);
        let failed = faults.has_errors();
        self.diags.extend(faults);
        if failed {
            return Err(Diags::new());
        }
        let versions = core_version_faults(&module);
        if versions.has_errors() {
            return Err(versions);
        }
        let (given, faults) = arguments_of_call(&call.body, call.open, module.variables.values());
        if faults.has_errors() {
            return Err(faults);
        }
        let mut constants = Constants::new();
        let known = module
            .variables
            .iter()
            .filter(|(_, variable)| is_early(&module, variable));
        for (name, variable) in known {
            let (value, faults) = early.constant(variable, given.get(name).copied());
            if variable.constant {
                self.diags.extend(faults);
                constants.insert(name.clone(), value);
            } else if !faults.has_errors() {
                constants.insert(name.clone(), value);
            }
        }
        let member = Member {
            source: source.to_string().into(),
            module,
            folder: found.folder,
        };
        Ok((member, constants))
    }
}
