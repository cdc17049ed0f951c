//! `prevent_destroy`: objects whose destruction is an error.
//!
//! OpenTofu's may be computed, for all instances of a resource alike: it is evaluated for objects, too, that have no place in
//! the configuration any more. Source: OpenTofu `checkPreventDestroy` in `node_resource_abstract_instance.go`.

use ashlar_addr::ResourceInstance;
use ashlar_config::ResourceConfig;
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Subject, evaluate, references};
use ashlar_syntax::Expr;
use ashlar_value::{Dialect, Mark, Type, Value, convert};

use crate::engine::Engine;

const INVALID: &str = "Invalid value for prevent_destroy";

/// What is planned for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes, or is replaced.
    Destroyed,
    /// It stays. Then only what could never be a value of `prevent_destroy` is a fault.
    Kept,
}

impl Engine<'_> {
    /// The faults of what is planned for an object, as far as `prevent_destroy` has to do with it.
    pub(crate) fn prevented(&self, address: &ResourceInstance, config: &ResourceConfig, fate: Fate) -> Diags {
        let prevents = match (&config.lifecycle.prevent_destroy_when, fate) {
            (None, Fate::Kept) => return Diags::new(),
            (None, Fate::Destroyed) => config.lifecycle.prevent_destroy == Some(true),
            (Some(expr), fate) => match self.prevention(address, expr, fate) {
                Ok(prevents) => prevents,
                Err(diags) => return diags,
            },
        };
        if !prevents {
            return Diags::new();
        }
        let summary = match self.tree.root().dialect {
            Dialect::Terraform => "Instance cannot be destroyed",
            Dialect::OpenTofu => "Resource instance cannot be destroyed",
        };
        let detail = format!(
            "{address} has lifecycle.prevent_destroy set, but this plan would destroy it. Change the plan by undoing what forces \
             the destruction, or take prevent_destroy out."
        );
        Diag::error(summary, detail).at(config.header).into()
    }

    /// The computed value.
    fn prevention(&self, address: &ResourceInstance, expr: &Expr, fate: Fate) -> Result<bool, Diags> {
        let (found, _) = references(expr);
        let of_instances = found
            .iter()
            .filter(|found| matches!(found.subject, Subject::Each(_) | Subject::Count(_)));
        let faults: Diags = of_instances
            .map(|found| {
                let detail = "prevent_destroy cannot refer to each or count: it is needed for instances, too, that the configuration \
                              does not have any more.";
                Diag::error("Invalid reference in prevent_destroy", detail).at(found.span)
            })
            .collect();
        if faults.has_errors() {
            return Err(faults);
        }
        let invalid = |what: &str| -> Diags {
            let detail = format!("The prevent_destroy of {address} {what}.");
            Diag::error(INVALID, detail).at(expr.span).into()
        };
        let Some(module) = self.values.instance(&address.resource.module) else {
            return Err(invalid(
                "cannot be computed, since the instance of the module that it stands in is gone. Make it a constant until the \
                 object is destroyed",
            ));
        };
        let (value, diags) = evaluate(expr, &module.scope());
        if diags.has_errors() {
            return Err(diags);
        }
        let value: Value = convert(&value, &Type::Bool)
            .map_err(|why| invalid(&format!("is no truth value: {}", why.message)))?;
        let marks = value.marks();
        if marks.contains(Mark::Sensitive) {
            return Err(invalid(
                "is sensitive, and whether the object may go would tell it",
            ));
        }
        if marks.contains(Mark::Ephemeral) {
            return Err(invalid(
                "is ephemeral, and may be another one when the plan is applied",
            ));
        }
        match (fate, value.is_known(), value.as_bool()) {
            (Fate::Kept, ..) => Ok(false),
            (_, false, _) => Err(invalid("is not known before the plan is applied")),
            (_, _, None) => Err(invalid("is null; write false if the object may go")),
            (_, _, Some(prevents)) => Ok(prevents),
        }
    }
}
