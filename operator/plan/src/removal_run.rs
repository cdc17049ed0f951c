//! A destroy run: after an ordinary plan has refreshed the state, everything left in it is to be removed.
//!
//! Source: Terraform `internal/terraform/context_plan.go` (`destroyPlan`).

use std::sync::Arc;

use ashlar_addr::{DeposedKey, Mode as ResourceMode, ProviderConfig, ResourceInstance};
use ashlar_diag::Diags;
use ashlar_state::Object;
use ashlar_value::Value;
use futures::future::join_all;

use crate::{
    engine::Engine,
    instance::{removal::Removal, stored::read_stored},
    model::{Action, Change},
    outputs,
    walk::{Found, prevented},
};

/// Replaces what the ordinary plan found by the removal of all objects and outputs.
pub(crate) async fn plan_removals(engine: &Engine<'_>, found: &mut Found) {
    found.changes.clear();
    found.by_resource.clear();
    found.checks.clear();
    let state = found.refreshed.clone();
    let works = state.objects().filter_map(|(address, deposed, object)| {
        let resource = state.resources.get(&address.resource)?;
        Some(plan_one(engine, &resource.provider, address, deposed, object))
    });
    for result in join_all(works).await {
        match result {
            Ok((change, diags)) => {
                found.changes.push(change);
                found.diags.extend(diags);
            }
            Err(diags) => found.diags.extend(diags),
        }
    }
    found.outputs = state
        .outputs
        .iter()
        .map(|(name, before)| (name.clone(), outputs::removal(before)))
        .collect();
}

async fn plan_one(
    engine: &Engine<'_>,
    stored_provider: &ProviderConfig,
    address: ResourceInstance,
    deposed: Option<DeposedKey>,
    object: &Arc<Object>,
) -> Result<(Change, Diags), Diags> {
    let config = address
        .resource
        .module
        .is_root()
        .then_some(&engine.module.resources);
    let config = config.and_then(|resources| resources.get(&address.resource.resource));
    let provider_config = config
        .map_or(stored_provider, |config| &config.provider_config)
        .clone();
    let schema = engine.resource_schema(&provider_config.provider, &address.resource.resource)?;
    if address.resource.resource.mode == ResourceMode::Data {
        let before = ashlar_state::decode_object(object, schema)?;
        return Ok((forget_data(address, provider_config, before), Diags::new()));
    }
    // The change is planned and shown all the same.
    let prevents = config.filter(|config| deposed.is_none() && config.lifecycle.prevent_destroy);
    let faults = prevents.map(|config| prevented(&address, config));
    let provider = engine.provider(&provider_config)?;
    let (live, mut diags) = read_stored(&*provider, &address, schema, object, None).await?;
    let removal = Removal {
        engine,
        address,
        deposed,
        provider: provider_config,
        schema,
        reason: None,
    };
    let change = removal.plan_delete(&*provider, &live, &mut diags).await?;
    diags.extend(faults.into_iter().flatten());
    Ok((change, diags))
}

/// A data source only leaves the state.
fn forget_data(address: ResourceInstance, provider: ProviderConfig, before: Value) -> Change {
    let after = Value::null(before.ty());
    Change {
        address,
        deposed: None,
        previous_address: None,
        provider,
        action: Action::Delete,
        reason: None,
        before,
        after,
        replace_paths: Vec::new(),
        private: Arc::default(),
        before_identity: None,
        after_identity: None,
        depose_as: None,
        dependencies: Arc::default(),
        create_before_destroy: false,
    }
}
