//! What references in an expression mean: the values of a module instance, with what is particular to one instance in it.

use std::sync::Arc;

use ashlar_addr::Provider;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Scope, Subject, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Dialect, Marks, Value, schema::ProviderSchema};

use super::{expansion::Repetition, module::ModuleValues};

/// The values of a module with what is particular to one instance of something in it.
pub struct InstanceScope<'v, 'a> {
    values: &'v ModuleValues<'a>,
    repetition: Repetition,
    this: Option<Value>,
    absent: bool,
}

impl<'v, 'a> InstanceScope<'v, 'a> {
    pub(super) fn new(values: &'v ModuleValues<'a>, repetition: Repetition, this: Option<Value>) -> Self {
        Self {
            values,
            repetition,
            this,
            absent: false,
        }
    }

    /// The same where the instance could not be made, so that `self` means nothing.
    pub(super) fn of_absent(self) -> Self {
        Self { absent: true, ..self }
    }
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
