//! Actions: what they are configured with, which changes trigger them, and which a person asked for.
//!
//! Nothing is invoked here; apply does that. What an action is configured with and its trigger's condition are evaluated while
//! planning and again while applying. Source: Terraform `node_action.go`, `node_action_instance.go`.

mod condition;
mod request;
mod trigger;

use std::collections::BTreeMap;

use ashlar_addr::{ActionInstance, ConfigAction};
use ashlar_config::ActionConfig;
use ashlar_diag::{Diag, Diags, Severity};
use ashlar_eval::decode_block;
use ashlar_port::ProviderDiag;
use ashlar_value::{Mark, Marks, Value, ops::OpError, schema::Block};

pub use condition::holds;
pub(crate) use request::{needs_of_requests, request, undeclared};
pub(crate) use trigger::trigger;

use crate::{
    engine::Engine,
    expand::expand,
    parts::in_each,
    values::{ModuleValues, Repetition},
};

/// Finds out which instances an action has in each instance of its module, and what they are configured with.
pub fn evaluate(engine: &Engine<'_>, action: &ConfigAction) -> Result<Diags, Diags> {
    let Some(config) = engine.tree.action(action) else {
        return Ok(Diags::new());
    };
    let schema = schema(engine, action, config)?;
    in_each(&*engine.values.instances(&action.module), |module| {
        let expansion = match expand(config.count.as_ref(), config.for_each.as_ref(), &module.scope()) {
            Ok(expansion) => expansion,
            Err(diags) => return diags,
        };
        let mut diags = Diags::new();
        let mut values = BTreeMap::new();
        for key in expansion.keys() {
            let address = ActionInstance {
                module: module.address.clone(),
                kind: action.kind.clone(),
                name: action.name.clone(),
                key,
            };
            let (value, told) = configured(
                module,
                config,
                schema,
                expansion.repetition(&address.key),
                &address,
            );
            values.insert(address.key, value);
            diags.extend(told);
        }
        if !diags.has_errors() {
            module.set_action(&action.kind, &action.name, values);
        }
        diags
    })
}

/// What the `config` block of one instance holds; null without such a block.
fn configured(
    module: &ModuleValues<'_>,
    config: &ActionConfig,
    schema: &Block,
    repetition: Repetition,
    address: &ActionInstance,
) -> (Value, Diags) {
    if config.open.is_none() {
        return (Value::null(schema.ty()), Diags::new());
    }
    let scope = module.instance_scope(repetition, None);
    let (value, mut diags) = decode_block(&config.body, schema, &scope);
    if !diags.has_errors() {
        let faults = ashlar_config::ephemeral_faults(&value, schema, &address.to_string(), &config.body);
        diags.extend(faults);
    }
    (value, diags)
}

/// The schema of an action's configuration.
pub fn schema<'a>(
    engine: &Engine<'a>,
    action: &ConfigAction,
    config: &ActionConfig,
) -> Result<&'a Block, Diags> {
    let provider = &config.provider_config.provider;
    let schemas = engine.schemas.get(provider);
    let found = schemas.and_then(|schemas| schemas.actions.get(&action.kind));
    found.ok_or_else(|| {
        let detail = format!(
            "The provider {} has no action {:?}. Use a version of the provider that has it, or take it out.",
            provider.for_display(),
            &*action.kind
        );
        Diag::error("Invalid action type", detail).at(config.kind).into()
    })
}

/// What a plan may keep of a configuration: without what is ephemeral.
pub fn without_ephemeral(value: &Value) -> Value {
    if !value.marks_deep().contains(Mark::Ephemeral) {
        return value.clone();
    }
    let kept = value.transform::<OpError>(&mut |_, part| {
        let marks = part.marks();
        Ok(if marks.contains(Mark::Ephemeral) {
            Value::null(part.ty()).with_marks(marks.without(Mark::Ephemeral))
        } else {
            part
        })
    });
    // A value that cannot be taken apart is kept out as a whole.
    kept.unwrap_or_else(|_| Value::null(value.ty()).with_marks(Marks::SENSITIVE))
}

/// Whatever a provider remarks on an action as one diagnostic, as Terraform tells it: `failed` sums up errors, `warned`
/// warnings alone.
pub fn told(remarks: &[ProviderDiag], failed: &'static str, warned: &'static str) -> Option<Diag> {
    let lines: Vec<String> = remarks
        .iter()
        .map(|remark| match &*remark.detail {
            "" => remark.summary.clone(),
            detail => format!("{}: {detail}", remark.summary),
        })
        .collect();
    let has_errors = remarks.iter().any(|remark| remark.severity == Severity::Error);
    match lines.as_slice() {
        [] => None,
        lines if has_errors => Some(Diag::error(failed, lines.join("\n"))),
        lines => Some(Diag::warning(warned, lines.join("\n"))),
    }
}
