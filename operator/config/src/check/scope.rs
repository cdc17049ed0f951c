//! What expressions see before anything is planned: types and marks, no values of variables or resources.
//!
//! Rules: Terraform `terraform/evaluate.go` in its validate walk.

use ashlar_addr::Resource;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Reference, Scope, Subject, undeclared};
use ashlar_funcs::Caps;
use ashlar_value::{Dialect, Marks, Type, Value};

use super::Check;
use crate::{DependsOn, check_reference, reference::schema_of};

/// What tells the instances of the block around apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeated {
    /// There is one.
    No,
    /// `count.index` is there.
    Count,
    /// `each.key` and `each.value` are there.
    ForEach,
}

/// The scope of one block.
pub(super) struct StaticScope<'c> {
    check: &'c Check<'c>,
    repeated: Repeated,
    /// What `self` means.
    this: Option<&'c Resource>,
}

impl<'c> StaticScope<'c> {
    pub(super) fn new(check: &'c Check<'_>, repeated: Repeated, this: Option<&'c Resource>) -> Self {
        Self {
            check,
            repeated,
            this,
        }
    }

    /// Faults of the steps taken into a declared resource.
    fn steps(&self, reference: &Reference<'_>, resource: &Resource) -> Diags {
        let Some(config) = self.check.module.resources.get(resource) else {
            return Diags::new();
        };
        let Some(schemas) = self.check.schemas.get(&config.provider_config.provider) else {
            return Diags::new();
        };
        match schema_of(schemas, resource) {
            Some(schema) => undeclared::steps(reference.remaining, &schema.block),
            None => {
                let detail = format!("The provider has no resource type {:?}.", &*resource.kind);
                Diag::error("Invalid resource type", detail)
                    .at(reference.span)
                    .into()
            }
        }
    }

    /// Faults of a `depends_on` list; the first one ends the search, as in Terraform.
    pub(super) fn depends_on(&self, list: &[DependsOn], faults: &Diags) -> Diags {
        let mut diags = Diags::new();
        let mut faults = faults.iter().peekable();
        for depends in list {
            // Faults of entries that stand before this one.
            let before = |fault: &&Diag| fault.subject.is_some_and(|at| at.start < depends.span.start);
            while let Some(fault) = faults.next_if(before) {
                diags.push(fault.clone());
            }
            let reference = match Reference::parse(&depends.traversal) {
                Ok(Some(reference)) => reference,
                Ok(None) => continue,
                Err(diag) => {
                    diags.push(diag);
                    continue;
                }
            };
            if let (Some(first), Some(last)) = (reference.remaining.first(), reference.remaining.last()) {
                let detail = "Only whole objects can be depended on, not their attributes.";
                let place = first.span().to(last.span());
                diags.push(Diag::error("Invalid depends_on reference", detail).at(place));
            }
            if !diags.has_errors() {
                diags.extend(Scope::check(self, &reference));
            }
            if !diags.has_errors() {
                diags.extend(self.lookup(&reference).err().unwrap_or_default());
            }
        }
        diags.extend(faults.cloned());
        diags
    }
}

impl Scope for StaticScope<'_> {
    fn check(&self, reference: &Reference<'_>) -> Diags {
        let mut diags = check_reference(self.check.module, reference);
        match (&reference.subject, self.this) {
            (Subject::Resource(resource), _) => diags.extend(self.steps(reference, resource)),
            (Subject::SelfRef, Some(this)) => diags.extend(self.steps(reference, this)),
            (Subject::SelfRef, None) => diags.push(undeclared::no_self(reference)),
            _ => {}
        }
        diags
    }

    fn lookup(&self, reference: &Reference<'_>) -> Result<Value, Diags> {
        let module = self.check.module;
        match &reference.subject {
            Subject::Var(name) => match module.variables.get(name) {
                Some(variable) => Ok(variable.marked(Value::unknown(variable.ty.without_optional()))),
                None => {
                    Err(
                        undeclared::variable(reference, name, module.variables.keys().map(|name| &**name))
                            .into(),
                    )
                }
            },
            Subject::Local(name) if !module.locals.contains_key(name) => {
                Err(undeclared::local(reference, name, module.locals.keys().map(|name| &**name)).into())
            }
            Subject::Local(name) => Ok(self
                .check
                .locals
                .get(name)
                .cloned()
                .unwrap_or_else(Value::dynamic)),
            Subject::Path(name) => match &**name {
                "module" | "root" => Ok(Value::string(".")),
                "cwd" => Ok(self
                    .check
                    .caps
                    .cwd()
                    .map_or_else(|_| Value::unknown(Type::String), Value::string)),
                _ => Err(undeclared::path(reference, name).into()),
            },
            Subject::Terraform(name) => match &**name {
                "workspace" => Ok(Value::unknown(Type::String)),
                "applying" => Ok(Value::unknown(Type::Bool).with_marks(Marks::EPHEMERAL)),
                _ => Err(undeclared::terraform(reference, name).into()),
            },
            Subject::Each(name) => {
                match undeclared::each(reference, name, self.repeated == Repeated::ForEach) {
                    Some(diag) => Err(diag.into()),
                    None if &**name == "key" => Ok(Value::unknown(Type::String)),
                    None => Ok(Value::dynamic()),
                }
            }
            Subject::Count(name) => {
                match undeclared::count(reference, name, self.repeated == Repeated::Count) {
                    Some(diag) => Err(diag.into()),
                    None => Ok(Value::unknown(Type::Number)),
                }
            }
            Subject::Resource(_)
            | Subject::SelfRef
            | Subject::List { .. }
            | Subject::Module { .. }
            | Subject::Caller
            | Subject::Action { .. } => Ok(Value::dynamic()),
        }
    }

    fn caps(&self) -> &dyn Caps {
        self.check.caps
    }

    fn dialect(&self) -> Dialect {
        self.check.module.dialect
    }

    fn tolerates_unknown_functions(&self) -> bool {
        true
    }
}
