//! Values that are known while modules are still being loaded: constant variables, and what is made of them. They tell where
//! called modules are.
//!
//! Rules: Terraform `terraform/node_module_install.go`, `evaluate.go` in its init walk.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ashlar_addr::{Constraints, Mode, Module as ModuleAddr};
use ashlar_diag::{Diag, Diags, Span};
use ashlar_eval::{
    Given, Reference, Scope, Subject, evaluate, evaluate_as, only_arguments, references, undeclared,
};
use ashlar_funcs::Caps;
use ashlar_syntax::Expr;
use ashlar_value::{Data, Dialect, Mark, Marks, Type, Value, convert};
use petgraph::{
    algo::kosaraju_scc,
    graph::{DiGraph, NodeIndex},
};

use crate::{
    Local, Module, ModuleCall,
    check::{circle_of, repeat::for_each_value},
    check_reference,
    early_caps::EarlyFiles,
    source::{ModuleSource, SourceFault},
};

/// No source is longer, in bytes.
const LONGEST_SOURCE: usize = 4096;

/// Constant variables of a module by name.
pub(crate) type Constants = BTreeMap<Arc<str>, Value>;

/// What expressions of a module see while it is loaded.
pub(crate) struct Early<'m> {
    pub(crate) module: &'m Module,
    pub(crate) constants: &'m Constants,
    pub(crate) folder: &'m str,
    /// What was needed so far.
    locals: Mutex<Locals>,
    caps: EarlyFiles,
}

/// Local values, and what is wrong with them.
#[derive(Default)]
struct Locals {
    /// Those at fault, and those that need one of them, have no value.
    values: BTreeMap<Arc<str>, Option<Value>>,
    faults: Diags,
}

impl Scope for Early<'_> {
    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let module = self.module;
        match &reference.subject {
            Subject::Var(name) => match (module.variables.get(name), self.constants.get(name)) {
                (Some(variable), Some(value)) => Ok(variable.marked(value.clone())),
                (Some(variable), None) => Ok(variable.marked(Value::unknown(variable.ty.without_optional()))),
                (None, _) => {
                    let known = module.variables.keys().map(|name| &**name);
                    Err(undeclared::variable(reference, name, known).into())
                }
            },
            Subject::Local(name) => {
                if !module.locals.contains_key(name) {
                    let known = module.locals.keys().map(|name| &**name);
                    return Err(undeclared::local(reference, name, known).into());
                }
                // What is needed was evaluated before; what needs itself is not known.
                let known = self.known();
                Ok(known
                    .values
                    .get(name)
                    .cloned()
                    .flatten()
                    .unwrap_or_else(Value::dynamic))
            }
            Subject::Path(name) => match &**name {
                "module" => Ok(Value::string(self.folder)),
                "root" => Ok(Value::string(".")),
                "cwd" => Ok(match self.caps.known_cwd() {
                    Some(cwd) => Value::string(cwd),
                    None => Value::unknown(Type::String),
                }),
                _ => Err(undeclared::path(reference, name).into()),
            },
            Subject::Each(name) => told(undeclared::each(reference, name, true)),
            Subject::Count(name) => told(undeclared::count(reference, name, true)),
            Subject::SelfRef => told(Some(undeclared::no_self(reference))),
            // Of these it counts only whether they are there.
            Subject::Resource(resource) if module.resources.contains_key(resource) => {
                let is_ephemeral = resource.mode == Mode::Ephemeral;
                let marks = if is_ephemeral {
                    Marks::EPHEMERAL
                } else {
                    Marks::NONE
                };
                Ok(Value::dynamic().with_marks(marks))
            }
            Subject::Resource(_)
            | Subject::Module { .. }
            | Subject::List { .. }
            | Subject::Caller
            | Subject::Action { .. } => match check_reference(module, reference) {
                diags if diags.has_errors() => Err(diags),
                _ => Ok(Value::dynamic()),
            },
            Subject::Terraform(_) => Ok(Value::dynamic()),
        }
    }

    fn caps(&self) -> &dyn Caps {
        &self.caps
    }

    fn dialect(&self) -> Dialect {
        self.module.dialect
    }

    fn tolerates_unknown_functions(&self) -> bool {
        true
    }
}

fn told(fault: Option<Diag>) -> Result<Value, Diags> {
    fault.map_or_else(|| Ok(Value::dynamic()), |diag| Err(diag.into()))
}

impl<'m> Early<'m> {
    /// What expressions of the module see, whose folder and constant variables these are, and what files it may read.
    pub(crate) fn new(
        module: &'m Module,
        constants: &'m Constants,
        folder: &'m str,
        files: Option<Arc<dyn Caps>>,
    ) -> Self {
        Self {
            module,
            constants,
            folder,
            locals: Mutex::default(),
            caps: EarlyFiles::new(files),
        }
    }

    /// Locals of the module at `path` that calls need, and that need each other.
    pub(crate) fn circles(&self, path: &ModuleAddr) -> Diags {
        let locals = &self.module.locals;
        let mut graph = DiGraph::<&Arc<str>, ()>::new();
        let nodes: BTreeMap<&str, NodeIndex> = locals
            .keys()
            .map(|name| (&**name, graph.add_node(name)))
            .collect();
        for (name, local) in locals {
            for other in needed(&local.expr) {
                if let (Some(from), Some(to)) = (nodes.get(&**name), nodes.get(&*other)) {
                    graph.add_edge(*from, *to, ());
                }
            }
        }
        let mut reached = BTreeSet::new();
        let own: Vec<Arc<str>> = self.module.calls.values().flat_map(needed_by_call).collect();
        let mut open: Vec<NodeIndex> = own
            .iter()
            .filter_map(|name| nodes.get(&**name).copied())
            .collect();
        while let Some(node) = open.pop() {
            if reached.insert(node) {
                open.extend(graph.neighbors(node));
            }
        }
        let circles = kosaraju_scc(&graph).into_iter().filter(|group| group.len() > 1);
        let needed = circles.filter(|group| group.iter().any(|node| reached.contains(node)));
        let around = if path.is_root() {
            String::new()
        } else {
            format!("{path}.")
        };
        let name = |node: &NodeIndex| Some(format!("{around}local.{} (expand)", graph.node_weight(*node)?));
        needed
            .map(|group| circle_of(group.iter().filter_map(name).collect()))
            .collect()
    }

    /// Evaluates the locals that a call needs for any of its arguments, each once, those first that others need. Is one of
    /// them at fault?
    pub(crate) fn prepare(&self, call: &ModuleCall) -> bool {
        self.prepare_locals(&needed_by_call(call))
    }

    fn prepare_locals(&self, own: &[Arc<str>]) -> bool {
        let mut seen = BTreeSet::new();
        let mut open: Vec<(Arc<str>, bool)> = own.iter().map(|name| (name.clone(), false)).collect();
        while let Some((name, ready)) = open.pop() {
            let Some(local) = self.module.locals.get(&name) else {
                continue;
            };
            if ready {
                let value = self.local(&name, local);
                self.known().values.insert(name, value);
            } else if !self.known().values.contains_key(&name) && seen.insert(name.clone()) {
                open.push((name, true));
                open.extend(needed(&local.expr).into_iter().map(|name| (name, false)));
            }
        }
        self.any_failed(own)
    }

    fn local(&self, name: &str, local: &Local) -> Option<Value> {
        if self.any_failed(&needed(&local.expr)) {
            return None;
        }
        let own = undeclared::own_local(name, &local.expr);
        if own.has_errors() {
            self.known().faults.extend(own);
            return None;
        }
        let (value, faults) = evaluate(&local.expr, self);
        if self.caps.take_asked() {
            return Some(Value::dynamic());
        }
        let failed = faults.has_errors();
        self.known().faults.extend(faults);
        (!failed).then_some(value)
    }

    fn any_failed(&self, names: &[Arc<str>]) -> bool {
        let known = self.known();
        names
            .iter()
            .any(|name| matches!(known.values.get(name), Some(None)))
    }

    fn known(&self) -> MutexGuard<'_, Locals> {
        self.locals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is wrong with the locals that calls needed.
    pub(crate) fn faults(self) -> Diags {
        self.locals
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .faults
    }

    /// What a provider's `for_each` comes to, which is known early or never, and its faults.
    pub(crate) fn for_each(&self, expr: &Expr) -> (Option<BTreeMap<Arc<str>, Value>>, Diags) {
        let mut diags = self.static_faults(expr);
        if diags.has_errors() {
            return (None, diags);
        }
        self.prepare_locals(&needed(expr));
        let (value, faults) = evaluate(expr, self);
        let failed = faults.has_errors();
        diags.extend(faults);
        if !failed {
            diags.extend(for_each_value(&value, expr, self.dialect()));
        }
        let instances = match value.data() {
            _ if diags.has_errors() => None,
            Data::Map(_, entries) => Some(entries.iter().map(pair).collect()),
            Data::Object(entries) => Some(entries.iter().map(pair).collect()),
            Data::Set(_, items) if value.is_wholly_known() => {
                let keyed = items
                    .iter()
                    .filter_map(|item| Some((item.as_str()?.clone(), item.clone())));
                Some(keyed.collect())
            }
            _ => None,
        };
        (instances, diags)
    }

    /// What in an expression cannot be known while modules are loaded, as OpenTofu tells it.
    pub(crate) fn static_faults(&self, expr: &Expr) -> Diags {
        let mut diags = Diags::new();
        self.find_dynamic(expr, expr.span, &mut BTreeSet::new(), &mut diags);
        diags
    }

    /// `top`: the expression that is wanted. `seen`: locals that were looked at.
    fn find_dynamic(&self, expr: &Expr, top: Span, seen: &mut BTreeSet<Arc<str>>, diags: &mut Diags) {
        let (found, faults) = references(expr);
        diags.extend(faults);
        for reference in &found {
            let module = self.module;
            let (summary, detail) = match &reference.subject {
                Subject::Local(name) => match module.locals.get(name) {
                    Some(local) => {
                        if !seen.insert(name.clone()) {
                            continue;
                        }
                        let mut inner = Diags::new();
                        self.find_dynamic(&local.expr, top, seen, &mut inner);
                        let failed = inner.has_errors();
                        diags.extend(inner);
                        if failed {
                            let detail = format!("It needs local.{name}, which is not known yet.");
                            diags.push(Diag::error("Unable to compute static value", detail).at(top));
                        }
                        continue;
                    }
                    None => ("Undefined local", format!("There is no local value {name:?}.")),
                },
                Subject::Var(name) => match module.variables.get(name) {
                    Some(variable) if variable.never_constant => (
                        "Unable to use variable in static context",
                        format!("The variable {name:?} is declared with const = false, so its value is not known yet."),
                    ),
                    Some(_) => continue,
                    None => ("Undefined variable", format!("There is no variable {name:?}.")),
                },
                Subject::Path(_) | Subject::Terraform(_) => continue,
                Subject::Module { .. } => (
                    "Module output not supported in static context",
                    "Outputs are known only once modules are run.".to_owned(),
                ),
                _ => (
                    "Dynamic value in static context",
                    "This is not known while the configuration is read. Use variables, locals made of them, and literals."
                        .to_owned(),
                ),
            };
            diags.push(Diag::error(summary, detail).at(reference.span));
        }
    }

    /// The constraints on a called module's version. Empty if nothing is asked.
    pub(crate) fn version(&self, expr: &Expr) -> Result<Constraints, Diags> {
        self.only_constants(expr, "version", false)?;
        let value = self.text(expr, "Unknown module version")?;
        let Some(text) = value.as_str() else {
            return Ok(Constraints::default());
        };
        text.parse().map_err(|error| {
            let detail = format!("This is no version constraint: {error}.");
            Diag::error("Invalid version constraint", detail)
                .at(expr.span)
                .into()
        })
    }

    /// Where a called module is.
    pub(crate) fn source(&self, expr: &Expr, versioned: bool) -> Result<ModuleSource, Diags> {
        self.only_constants(expr, "source", true)?;
        let value = self.text(expr, "Unknown module source")?;
        if self.dialect() == Dialect::OpenTofu && value.is_null() {
            return Err(unsuitable(expr).into());
        }
        let text = value.as_str().map_or("", |text| &**text);
        if text.len() > LONGEST_SOURCE {
            let detail = "No source of a module is that long.";
            return Err(Diag::error("Invalid module source address", detail)
                .at(expr.span)
                .into());
        }
        ModuleSource::parse(text, versioned).map_err(|fault| {
            let (summary, detail) = match fault {
                SourceFault::NoKind => (
                    "Invalid module source address",
                    format!(
                        "{text:?} does not tell how the module is to be fetched. A folder beside this module is written \
                         \"./{text}\"."
                    ),
                ),
                SourceFault::Malformed(why) if versioned => (
                    "Invalid registry module source address",
                    format!("A version is asked for, so the source names a module of a registry; but {why}."),
                ),
                SourceFault::Malformed(why) => (
                    "Invalid module source address",
                    format!("{text:?} is no source of a module: {why}."),
                ),
            };
            Diag::error(summary, detail).at(expr.span).into()
        })
    }

    /// The value of an argument of a call for a constant variable.
    pub(crate) fn constant(&self, variable: &ashlar_eval::Variable, expr: Option<&Expr>) -> (Value, Diags) {
        let mut diags = Diags::new();
        let given = expr.map(|expr| {
            let (value, faults) = evaluate(expr, self);
            let value = if self.caps.take_asked() {
                Value::dynamic()
            } else {
                diags.extend(faults);
                value
            };
            Given {
                value,
                place: Some(expr.span),
            }
        });
        if diags.has_errors() {
            return (Value::dynamic(), diags);
        }
        let (value, faults) = variable.value(given.as_ref());
        diags.extend(faults);
        if !diags.has_errors() && !value.is_wholly_known() {
            let detail = format!(
                "The variable {:?} is const, so its value must be known before anything is planned: literals, other const \
                 variables, and locals made of them.",
                &*variable.name
            );
            let place = expr.map_or(variable.declared, |expr| expr.span);
            diags.push(Diag::error("Unknown value for const variable", detail).at(place));
        }
        (variable.marked(value), diags)
    }

    fn text(&self, expr: &Expr, unknown: &'static str) -> Result<Value, Diags> {
        let (value, diags) = match self.dialect() {
            Dialect::Terraform => evaluate_as(expr, &Type::String, self),
            Dialect::OpenTofu => {
                let (value, diags) = evaluate(expr, self);
                let Ok(text) = convert(&value, &Type::String) else {
                    return Err(unsuitable(expr).into());
                };
                (text, diags)
            }
        };
        let (value, diags) = if self.caps.take_asked() {
            (Value::dynamic(), Diags::new())
        } else {
            (value, diags)
        };
        if diags.has_errors() {
            return Err(diags);
        }
        let hidden = [
            (
                Mark::Sensitive,
                "Sensitive value not allowed",
                "What is sensitive cannot tell where a module is.",
            ),
            (
                Mark::Ephemeral,
                "Ephemeral value not allowed",
                "What is ephemeral cannot tell where a module is: it is not kept, and applying needs the same module.",
            ),
        ];
        let hidden = hidden
            .into_iter()
            .find(|(mark, ..)| value.marks().contains(*mark));
        // In Terraform's language what is const is declared as neither; a value may be marked all the same by who gives it.
        if let Some((_, summary, detail)) = hidden {
            return Err(Diag::error(summary, detail).at(expr.span).into());
        }
        if !value.is_wholly_known() {
            let detail =
                "Only literals, const variables, and locals made of them are known while modules are loaded.";
            return Err(Diag::error(unknown, detail).at(expr.span).into());
        }
        Ok(value)
    }

    fn only_constants(&self, expr: &Expr, what: &'static str, paths: bool) -> Result<(), Diags> {
        if self.dialect() == Dialect::OpenTofu {
            let faults = self.static_faults(expr);
            return if faults.has_errors() { Err(faults) } else { Ok(()) };
        }
        let (found, faults) = references(expr);
        if faults.has_errors() {
            return Err(faults);
        }
        for reference in &found {
            let allowed = match &reference.subject {
                Subject::Var(_) | Subject::Local(_) => true,
                Subject::Path(_) => paths,
                _ => false,
            };
            if !allowed {
                let detail =
                    format!("A module's {what} can be made of literals, const variables and locals alone.");
                let diag = Diag::error(format!("Invalid module {what}"), detail);
                return Err(diag.at(reference.span).into());
            }
        }
        Ok(())
    }
}

fn pair((key, value): (&Arc<str>, &Value)) -> (Arc<str>, Value) {
    (key.clone(), value.clone())
}

/// The locals that an expression names.
fn needed(expr: &Expr) -> Vec<Arc<str>> {
    let named = references(expr).0.into_iter();
    let locals = named.filter_map(|reference| match reference.subject {
        Subject::Local(name) => Some(name),
        _ => None,
    });
    locals.collect()
}

/// The locals that a call names in its arguments; how often it is made is not asked yet.
fn needed_by_call(call: &ModuleCall) -> Vec<Arc<str>> {
    let arguments = only_arguments(call.body.clone()).0;
    let exprs = arguments.iter().map(|argument| &argument.expr);
    exprs
        .chain(&call.source)
        .chain(&call.version)
        .flat_map(needed)
        .collect()
}

fn unsuitable(expr: &Expr) -> Diag {
    Diag::error("Unsuitable value type", "A string is required.").at(expr.start())
}
