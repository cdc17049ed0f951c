//! Calls of modules, and the values they give to variables.
//!
//! Rules: Terraform `node_module_expand.go` (`nodeValidateModule`), `node_module_variable.go`.

use std::sync::Arc;

use ashlar_addr::Module as ModuleAddr;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Given, arguments_of_call, evaluate};
use ashlar_syntax::Expr;
use ashlar_value::Dialect;

use super::{
    Check, Outcome,
    scope::{Repeated, StaticScope},
};
use crate::{model::ModuleCall, tree::Member};

impl<'t> Check<'t> {
    pub(super) fn call(&self, call: &ModuleCall, scope: &StaticScope<'_, 't>) -> Diags {
        let mut diags = Diags::new();
        if let Some(count) = &call.count {
            diags.extend(scope.count(count));
        } else if let Some(for_each) = &call.for_each {
            diags.extend(scope.for_each(for_each));
        }
        let waits = call.depends_on.as_deref().unwrap_or_default();
        diags.extend(scope.depends_on(waits, &call.depends_on_faults));
        diags
    }

    /// What a call gives to a variable of the module it calls, with the calling module.
    pub(super) fn given(
        &self,
        path: &ModuleAddr,
        member: &'t Member,
        name: &Arc<str>,
    ) -> Option<(&'t ModuleAddr, &'t Member, &'t Expr)> {
        let (parent, call) = self.tree.call(path)?;
        let (parent, caller) = self.tree.members.get_key_value(&parent)?;
        let (given, _) = arguments_of_call(&call.body, call.open, member.module.variables.values());
        Some((parent, caller, given.get(name).copied()?))
    }

    /// The value that a call gives to a variable of the module it calls. The root module's are given by a run.
    pub(super) fn argument(&self, path: &'t ModuleAddr, member: &'t Member, name: &Arc<str>) -> Outcome<'t> {
        let mut diags = Diags::new();
        let Some(variable) = member.module.variables.get(name).filter(|_| !path.is_root()) else {
            return Outcome::default();
        };
        let given = self.given(path, member, name).map(|(parent, caller, expr)| {
            let scope = StaticScope::new(self, parent, caller).repeated(Repeated::Unknown);
            let (value, faults) = evaluate(expr, &scope);
            diags.extend(faults);
            let value = scope.used(value, expr, &mut diags);
            Given {
                value,
                place: Some(expr.span),
            }
        });
        if diags.has_errors() {
            return Outcome {
                diags,
                ..Outcome::default()
            };
        }
        let (value, faults) = variable.value(given.as_ref());
        diags.extend(faults);
        if let (Some(why), Some(given)) = (&variable.deprecated, &given)
            && let (false, Some(place)) = (given.value.is_null(), given.place)
        {
            let summary = match member.module.dialect {
                Dialect::Terraform => "Deprecated variable got a value",
                Dialect::OpenTofu => "Variable marked as deprecated by the module author",
            };
            diags.push(Diag::warning(summary, why.clone()).at(place));
        }
        Outcome {
            diags,
            value: Some(variable.marked(value)),
            question: None,
        }
    }
}
