//! Provisioners against what the ones that are built in take.
//!
//! Rules: Terraform `node_resource_validate.go` (`validateProvisioner`), `builtin/provisioners`.

use ashlar_diag::{Diag, Diags};
use ashlar_eval::decode_block;
use ashlar_syntax::Body;
use ashlar_value::Value;

use super::{Check, scope::StaticScope};
use crate::{
    model::Provisioner,
    provisioner_form::{connection_schema, provisioner_schema},
};

/// The fault of a provisioner of a kind that there is not; it is told before anything is evaluated.
pub(super) fn unknown_kind(provisioner: &Provisioner) -> Option<Diag> {
    if provisioner_schema(&provisioner.kind).is_some() {
        return None;
    }
    let detail = format!(
        "There is no provisioner {:?}; there are local-exec, remote-exec and file.",
        &*provisioner.kind
    );
    Some(Diag::error("Missing required provisioner plugin", detail))
}

impl<'t> Check<'t> {
    /// `scope`: with `self`. `around`: the resource's connection.
    pub(super) fn provisioner(
        &self,
        provisioner: &Provisioner,
        around: Option<&Body>,
        scope: &StaticScope<'_, 't>,
    ) -> Diags {
        let Some(schema) = provisioner_schema(&provisioner.kind) else {
            return Diags::new();
        };
        let (value, mut diags) = decode_block(&provisioner.body, schema, scope);
        let set = |name: &str| {
            value
                .attr(name)
                .is_some_and(|value: Value| !(value.is_known() && value.is_null()))
        };
        let count = |names: &[&str]| names.iter().filter(|name| set(name)).count();
        if !diags.has_errors() {
            let fault = match &*provisioner.kind {
                "remote-exec" if count(&["inline", "script", "scripts"]) != 1 => Some((
                    "Invalid remote-exec provisioner configuration",
                    "Exactly one of inline, script and scripts must be set.",
                )),
                "file" if count(&["source", "content"]) == 2 => Some((
                    "Cannot set both 'source' and 'content'",
                    "Exactly one of source and content must be set.",
                )),
                "file" if count(&["source", "content"]) == 0 => Some((
                    "Must provide one of 'source' or 'content'",
                    "Exactly one of source and content must be set.",
                )),
                _ => None,
            };
            if let Some((summary, detail)) = fault {
                diags.push(Diag::error(summary, detail));
            }
        }
        if let Some(connection) = provisioner.connection_within(around) {
            diags.extend(decode_block(&connection, connection_schema(), scope).1);
        }
        diags
    }
}
