//! Values that are known while modules are still being loaded: constant variables, and what is made of them. They tell where
//! called modules are.
//!
//! Rules: Terraform `terraform/node_module_install.go`, `evaluate.go` in its init walk.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_addr::Constraints;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{
    Constants as ConstantCaps, Given, Reference, Scope, Subject, evaluate, evaluate_as, references,
    undeclared,
};
use ashlar_funcs::Caps;
use ashlar_syntax::Expr;
use ashlar_value::{Dialect, Type, Value};

use crate::{
    Module,
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
    /// Local values that were needed so far.
    locals: Mutex<BTreeMap<Arc<str>, Value>>,
}

impl Scope for Early<'_> {
    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let module = self.module;
        match &reference.subject {
            Subject::Var(name) => match (module.variables.get(name), self.constants.get(name)) {
                (Some(_), Some(value)) => Ok(value.clone()),
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
                let known = self.locals.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(known.get(name).cloned().unwrap_or_else(Value::dynamic))
            }
            Subject::Path(name) => match &**name {
                "module" => Ok(Value::string(self.folder)),
                "root" => Ok(Value::string(".")),
                _ => Ok(Value::unknown(Type::String)),
            },
            _ => Ok(Value::dynamic()),
        }
    }

    fn caps(&self) -> &dyn Caps {
        &ConstantCaps
    }

    fn dialect(&self) -> Dialect {
        self.module.dialect
    }

    fn tolerates_unknown_functions(&self) -> bool {
        true
    }
}

impl<'m> Early<'m> {
    /// What expressions of the module see, whose folder and constant variables these are.
    pub(crate) fn new(module: &'m Module, constants: &'m Constants, folder: &'m str) -> Self {
        Self {
            module,
            constants,
            folder,
            locals: Mutex::default(),
        }
    }

    /// Evaluates the locals that an expression needs, each once, those first that others need.
    fn prepare(&self, expr: &Expr) {
        let needed = |expr: &Expr| -> Vec<Arc<str>> {
            let named = references(expr).0.into_iter();
            let locals = named.filter_map(|reference| match reference.subject {
                Subject::Local(name) => Some(name),
                _ => None,
            });
            locals.collect()
        };
        let mut seen = BTreeSet::new();
        let mut open: Vec<(Arc<str>, bool)> = needed(expr).into_iter().map(|name| (name, false)).collect();
        while let Some((name, ready)) = open.pop() {
            let Some(local) = self.module.locals.get(&name) else {
                continue;
            };
            if ready {
                let (value, faults) = evaluate(&local.expr, self);
                // A fault is told when all is evaluated.
                let value = if faults.has_errors() {
                    Value::dynamic()
                } else {
                    value
                };
                let mut known = self.locals.lock().unwrap_or_else(PoisonError::into_inner);
                known.insert(name, value);
            } else if seen.insert(name.clone()) {
                open.push((name, true));
                open.extend(needed(&local.expr).into_iter().map(|name| (name, false)));
            }
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
            self.prepare(expr);
            let (value, faults) = evaluate(expr, self);
            diags.extend(faults);
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
        self.prepare(expr);
        let (value, diags) = evaluate_as(expr, &Type::String, self);
        if diags.has_errors() {
            return Err(diags);
        }
        if !value.is_wholly_known() {
            let detail =
                "Only literals, const variables, and locals made of them are known while modules are loaded.";
            return Err(Diag::error(unknown, detail).at(expr.span).into());
        }
        Ok(value)
    }

    fn only_constants(&self, expr: &Expr, what: &'static str, paths: bool) -> Result<(), Diags> {
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
