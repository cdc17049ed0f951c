//! Outputs.
//!
//! Rules: Terraform `node_output.go`.

use ashlar_addr::Module as ModuleAddr;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::evaluate;
use ashlar_value::{Mark, Type, Value, convert};

use super::{
    Check,
    scope::{StaticScope, undeprecated},
};
use crate::Output;

impl<'t> Check<'t> {
    pub(super) fn output(&self, path: &ModuleAddr, output: &Output, scope: &StaticScope<'_, 't>) -> Diags {
        let in_root = path.is_root();
        if in_root && output.ephemeral {
            let detail = "Outputs of the root module are kept in state, so they cannot be ephemeral.";
            return Diag::error("Ephemeral output not allowed", detail)
                .at(output.header)
                .into();
        }
        let mut diags = Diags::new();
        for rule in &output.preconditions {
            diags.extend(evaluate(&rule.condition, scope).1);
            diags.extend(evaluate(&rule.error_message, scope).1);
        }
        if diags.has_errors() {
            return diags;
        }
        let (value, faults) = evaluate(&output.value, scope);
        let failed = faults.has_errors();
        diags.extend(faults);
        let value = if output.deprecated.is_some() {
            undeprecated(value)
        } else {
            scope.used_deep(value, &output.value, &mut diags)
        };
        let value = match &output.defaults {
            Some(defaults) if !failed => defaults.apply(&value),
            _ => value,
        };
        let value = match convert(&value, &output.ty) {
            _ if failed => Value::unknown(Type::Dynamic),
            Ok(value) => value,
            Err(error) => {
                let detail = format!("The value does not fit the output's type: {}.", error.message);
                diags.push(Diag::error("Invalid output value", detail).at(output.value.span));
                Value::unknown(Type::Dynamic)
            }
        };
        diags.extend(scope.depends_on(&output.depends_on, &output.depends_on_faults));
        if in_root && !output.sensitive && value.marks_deep().contains(Mark::Sensitive) {
            let detail = "The value holds sensitive values, and outputs are shown. Set sensitive = true to confirm that it \
                          is meant.";
            diags.push(Diag::error("Output refers to sensitive values", detail).at(output.header));
        }
        if diags.has_errors() {
            return diags;
        }
        if !output.ephemeral && value.marks_deep().contains(Mark::Ephemeral) {
            let detail = "The value is ephemeral, but the output is not declared so.";
            diags.push(Diag::error("Ephemeral value not allowed", detail).at(output.value.span));
        } else if let (true, Some((_, place))) = (in_root, &output.deprecated) {
            let detail =
                "No module calls the root module, so nobody could be told that its output is deprecated.";
            diags.push(Diag::error("Root module output deprecated", detail).at(*place));
        }
        diags
    }
}
