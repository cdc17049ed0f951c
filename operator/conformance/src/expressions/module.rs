//! The root module a case is evaluated in: its base context, the locals and variables of the case, and the scope that
//! references see.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use anyhow::Context;
use ashlar_addr::Mode;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{
    Reference, Scope, Subject, evaluate,
    undeclared::{self, Repetition},
};
use ashlar_funcs::Caps;
use ashlar_syntax::Expr;
use ashlar_value::{
    Dialect, Type, Value,
    schema::{self, AttributeType},
};
use serde_json::Value as Json;

use crate::expressions::{files::Files, shape};

/// What every case can refer to.
pub(crate) struct Base {
    pub(crate) vars: BTreeMap<Arc<str>, Value>,
    pub(crate) locals: BTreeMap<Arc<str>, Value>,
    /// Type, then name.
    pub(crate) resources: BTreeMap<(Arc<str>, Arc<str>), Value>,
    pub(crate) files: Files,
    /// That of the one resource type there is, `terraform_data`.
    pub(crate) schema: schema::Block,
    pub(crate) dialect: Dialect,
}

impl Base {
    /// Reads `context.json`.
    pub(crate) fn read(cases: &Path, dialect: Dialect) -> anyhow::Result<Self> {
        let root = cases
            .canonicalize()
            .with_context(|| format!("finding {}", cases.display()))?;
        let text = std::fs::read_to_string(root.join("context.json")).context("reading context.json")?;
        let context: BTreeMap<String, Json> = serde_json::from_str(&text)?;
        let mut base = Base {
            vars: BTreeMap::new(),
            locals: BTreeMap::new(),
            resources: BTreeMap::new(),
            schema: terraform_data(),
            dialect,
            files: Files { root, live: false },
        };
        for (name, recorded) in &context {
            let value = shape::read(recorded).with_context(|| name.clone())?;
            let (first, second) = name.split_once('.').context("a name without a period")?;
            match first {
                "var" => base.vars.insert(second.into(), value),
                "local" => base.locals.insert(second.into(), value),
                "path" | "terraform" => None,
                kind => base.resources.insert((kind.into(), second.into()), value),
            };
        }
        Ok(base)
    }
}

fn terraform_data() -> schema::Block {
    let attribute = |name: &str, ty| {
        let attribute = schema::Attribute {
            ty: AttributeType::Plain(ty),
            required: false,
            optional: name != "id",
            computed: matches!(name, "id" | "output"),
            sensitive: false,
            write_only: false,
            deprecated: None,
        };
        (Arc::from(name), attribute)
    };
    let attributes = [
        attribute("id", Type::String),
        attribute("input", Type::Dynamic),
        attribute("output", Type::Dynamic),
        attribute("triggers_replace", Type::Dynamic),
    ];
    schema::Block {
        attributes: attributes.into(),
        ..schema::Block::default()
    }
}

/// A local value, evaluated when first needed.
enum Local {
    Written(Arc<Expr>),
    Running,
    Known(Value),
    Failed,
}

/// What is known of the module's objects.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Phase {
    /// Types only: Terraform validates before it plans.
    Validate,
    /// Planned values.
    Plan,
    /// No state yet, but real time and randomness.
    Console,
}

/// The scope of one case.
pub(crate) struct Module<'b> {
    base: &'b Base,
    pub(crate) phase: Phase,
    files: Files,
    vars: BTreeMap<Arc<str>, Value>,
    locals: Mutex<BTreeMap<Arc<str>, Local>>,
    /// Faults of locals, told once.
    told: Mutex<Diags>,
}

impl<'b> Module<'b> {
    pub(crate) fn new(base: &'b Base, phase: Phase, locals: BTreeMap<Arc<str>, Expr>) -> Self {
        let locals = locals
            .into_iter()
            .map(|(name, expr)| (name, Local::Written(Arc::new(expr))))
            .collect();
        let vars = base.vars.clone();
        Self {
            base,
            phase,
            files: Files {
                live: phase == Phase::Console,
                ..base.files.clone()
            },
            vars,
            locals: Mutex::new(locals),
            told: Mutex::new(Diags::new()),
        }
    }

    /// Declares a variable, or gives one of the base another value.
    pub(crate) fn set(&mut self, name: Arc<str>, value: Value) {
        self.vars.insert(name, value);
    }

    /// Keeps of the variables of the base what validation knows: types and marks.
    pub(crate) fn forget_values(&mut self) {
        for (name, value) in &mut self.vars {
            let ty = if &**name == "any" {
                Type::Dynamic
            } else {
                value.ty()
            };
            *value = Value::unknown(ty).with_marks(value.marks());
        }
    }

    /// Faults met while evaluating locals.
    pub(crate) fn told(&self) -> Diags {
        self.told.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn swap(&self, name: &str, new: impl FnOnce(&mut Local) -> Local) -> Option<Local> {
        let mut locals = self.locals.lock().unwrap_or_else(PoisonError::into_inner);
        let local = locals.get_mut(name)?;
        let new = new(local);
        Some(std::mem::replace(local, new))
    }

    fn local(&self, name: &str) -> Option<Result<Value, Diags>> {
        let state = self.swap(name, |local| match local {
            Local::Written(_) | Local::Running => Local::Running,
            Local::Known(value) => Local::Known(value.clone()),
            Local::Failed => Local::Failed,
        })?;
        Some(match state {
            Local::Known(value) => Ok(value),
            Local::Failed => Err(Diags::new()),
            Local::Running => Err(Diag::error("Cycle", format!("local.{name} depends on itself.")).into()),
            Local::Written(expr) => {
                let (value, diags) = evaluate(&expr, self);
                let failed = diags.has_errors();
                self.told
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(diags);
                self.swap(name, |_| {
                    if failed {
                        Local::Failed
                    } else {
                        Local::Known(value.clone())
                    }
                });
                if failed { Err(Diags::new()) } else { Ok(value) }
            }
        })
    }
}

impl Scope for Module<'_> {
    fn check(&self, reference: &Reference<'_>) -> Diags {
        match &reference.subject {
            Subject::Resource(resource) => {
                let known = |mode| {
                    mode == Mode::Managed
                        && self
                            .base
                            .resources
                            .contains_key(&(resource.kind.clone(), resource.name.clone()))
                };
                if !known(resource.mode) {
                    return undeclared::resource(reference, resource, false).into();
                }
                let key = undeclared::instance_key(reference, resource, Repetition::Single);
                let steps = undeclared::steps(reference.remaining, &self.base.schema);
                key.into_iter().chain(steps).collect()
            }
            Subject::List { kind, name } => undeclared::list_resource(reference, kind, name).into(),
            Subject::Module { call, .. } => undeclared::module(reference, call, []).into(),
            Subject::SelfRef | Subject::Caller => undeclared::no_self(reference).into(),
            _ => Diags::new(),
        }
    }

    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let known = |map: &BTreeMap<Arc<str>, Value>, name: &Arc<str>| map.get(name).cloned();
        match &reference.subject {
            Subject::Var(name) => known(&self.vars, name).ok_or_else(|| {
                undeclared::variable(reference, name, self.vars.keys().map(|name| &**name)).into()
            }),
            Subject::Local(name) => match (self.local(name), known(&self.base.locals, name)) {
                (Some(result), _) => result,
                // Only the id of a resource has a type of its own before there is state.
                (None, Some(_)) if self.phase != Phase::Plan && &**name == "u_id" => {
                    Ok(Value::unknown(Type::String))
                }
                (None, Some(_)) if self.phase != Phase::Plan => Ok(Value::dynamic()),
                (None, Some(value)) => Ok(value),
                (None, None) => {
                    Err(
                        undeclared::local(reference, name, self.base.locals.keys().map(|name| &**name))
                            .into(),
                    )
                }
            },
            Subject::Resource(resource) => {
                match self
                    .base
                    .resources
                    .get(&(resource.kind.clone(), resource.name.clone()))
                {
                    // Without state no more is known of a resource than what attributes it has.
                    Some(_) if self.phase != Phase::Plan => {
                        let attributes = self.base.schema.attributes.iter();
                        Ok(Value::object(
                            attributes.map(|(name, attribute)| (name, Value::unknown(attribute.ty()))),
                        ))
                    }
                    Some(value) => Ok(value.clone()),
                    None => Err(undeclared::resource(reference, resource, false).into()),
                }
            }
            Subject::Path(name) => match &**name {
                "module" | "root" => Ok(Value::string(".")),
                "cwd" => Ok(Value::string(self.base.files.root.to_string_lossy())),
                _ => Err(undeclared::path(reference, name).into()),
            },
            Subject::Terraform(name) => match &**name {
                "workspace" => Ok(Value::string("default")),
                "applying" => Ok(Value::bool(false).with_marks(ashlar_value::Marks::EPHEMERAL)),
                _ => Err(undeclared::terraform(reference, name).into()),
            },
            Subject::Each(name) => Err(undeclared::each(reference, name, false).into_iter().collect()),
            Subject::Count(name) => Err(undeclared::count(reference, name, false).into_iter().collect()),
            Subject::Module { call, .. } => Err(undeclared::module(reference, call, []).into()),
            Subject::List { kind, name } => Err(undeclared::list_resource(reference, kind, name).into()),
            Subject::Action { .. } => Err(undeclared::action(reference).into()),
            Subject::SelfRef | Subject::Caller => Err(undeclared::no_self(reference).into()),
        }
    }

    fn is_console(&self) -> bool {
        self.phase == Phase::Console
    }

    fn caps(&self) -> &dyn Caps {
        &self.files
    }

    fn dialect(&self) -> Dialect {
        self.base.dialect
    }
}
