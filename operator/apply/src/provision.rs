//! Runs the provisioners of one object: when it was made, and before it is destroyed.
//!
//! Source: Terraform `evalApplyProvisioners` in `node_resource_abstract_instance.go`.

use std::sync::Arc;

use ashlar_addr::ResourceInstance;
use ashlar_config::{Provisioner, connection_schema, provisioner_schema};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Scope, decode_block};
use ashlar_plan::{
    Change, Repetition,
    instance::{Instance, Live, stored::to_object},
    provider_diags::place_all,
    unmarked,
};
use ashlar_port::{Event, ProvisionRequest};
use ashlar_syntax::Body;
use ashlar_value::{Mark, Value};

use crate::run::Run;

impl Run<'_> {
    /// Runs those that follow the making of an object. Until they are through the state has it as tainted; afterwards it is
    /// ready, unless one failed. An error is one of storing alone.
    pub(crate) async fn provision_created(
        &self,
        instance: &Instance<'_, '_>,
        live: &Live,
    ) -> Result<Diags, Diags> {
        let scope = instance
            .module
            .instance_scope(instance.repetition.clone(), Some(live.value.clone()));
        let config = instance.config;
        let mut diags = Diags::new();
        for provisioner in config.provisioners.iter().filter(|one| !one.on_destroy) {
            let around = config.connection.as_ref();
            diags.extend(
                self.provision(&instance.address, provisioner, around, &scope)
                    .await,
            );
            if diags.has_errors() {
                return Ok(diags);
            }
        }
        let object = to_object(live, instance.schema)?;
        self.keeper
            .outcome(&instance.address, None, &instance.provider, Some(object), true)
            .await?;
        Ok(diags)
    }

    /// Runs those that come before the destruction of an object: its resource's, or those of the `removed` block that is there
    /// in its stead. They see the object alone.
    pub(crate) async fn provision_destroyed(&self, change: &Change, value: &Value) -> Diags {
        let mut diags = Diags::new();
        let resource = change.address.resource.config();
        let tree = self.engine.tree;
        let declared = tree.resource(&resource).zip(tree.members.get(&resource.module));
        let found = match (declared, tree.removed(&resource)) {
            (Some((config, member)), _) => Some((member, &config.provisioners, config.connection.as_ref())),
            (None, Some((member, removed))) => {
                Some((member, &removed.provisioners, removed.connection.as_ref()))
            }
            (None, None) => None,
        };
        let runs =
            |(_, provisioners, _): &(_, &Vec<Provisioner>, _)| provisioners.iter().any(|one| one.on_destroy);
        let Some((member, provisioners, around)) = found.filter(runs) else {
            return diags;
        };
        let module = self
            .engine
            .values
            .bare(member, change.address.resource.module.clone());
        let repetition = Repetition::of_key(&change.address.key);
        let scope = module.instance_scope(repetition, Some(value.clone()));
        for provisioner in provisioners.iter().filter(|one| one.on_destroy) {
            diags.extend(self.provision(&change.address, provisioner, around, &scope).await);
            if diags.has_errors() {
                break;
            }
        }
        diags
    }

    /// Runs one. What went wrong is an error, unless the block says to go on.
    async fn provision(
        &self,
        address: &ResourceInstance,
        provisioner: &Provisioner,
        around: Option<&Body>,
        scope: &dyn Scope,
    ) -> Diags {
        let Some(schema) = provisioner_schema(&provisioner.kind) else {
            let detail = format!(
                "There is no provisioner {:?}; there are local-exec, remote-exec and file.",
                &*provisioner.kind
            );
            let diag = Diag::error("Missing required provisioner plugin", detail);
            return diag.at(provisioner.kind_span).into();
        };
        let (config, mut diags) = decode_block(&provisioner.body, schema, scope);
        let mut connection = Value::null(connection_schema().ty());
        if !diags.has_errors()
            && let Some(body) = provisioner.connection_within(around)
        {
            let (value, faults) = decode_block(&body, connection_schema(), scope);
            connection = value;
            diags.extend(faults);
        }
        if diags.has_errors() {
            return diags;
        }
        if !config.is_wholly_known() || !connection.is_wholly_known() {
            let detail = format!(
                "The {} provisioner of {address} refers to values that are not known even now.",
                &*provisioner.kind
            );
            diags.push(Diag::error("Configuration contains unknown value", detail).at(provisioner.header));
            return diags;
        }
        let hidden = hidden(&config);
        let kind: Arc<str> = provisioner.kind.clone();
        let tell = |event| self.engine.progress.tell(event);
        let hearer = |line: &str| {
            tell(Event::ProvisionerSays {
                address: address.clone(),
                provisioner: kind.clone(),
                line: hidden.unwrap_or(line).to_owned(),
            });
        };
        let request = ProvisionRequest {
            kind: &kind,
            config: &unmarked(&config),
            connection: &unmarked(&connection),
            is_secret: hidden.is_some(),
            hearer: &hearer,
        };
        let remarks = {
            let _permit = self.engine.permit().await;
            tell(Event::Provisioning {
                address: address.clone(),
                provisioner: kind.clone(),
            });
            self.provisioners.provision(request).await
        };
        let told = place_all(remarks, &provisioner.body, address);
        let failed = told.has_errors();
        tell(Event::Provisioned {
            address: address.clone(),
            provisioner: kind.clone(),
            failed,
        });
        if !(failed && provisioner.tolerated) {
            diags.extend(told);
        }
        diags
    }
}

/// What is told in the place of output where the arguments must not be shown: output may hold them.
fn hidden(config: &Value) -> Option<&'static str> {
    let (_, marks) = config.clone().unmark_deep_with_paths();
    let has = |mark| marks.iter().any(|(_, marks)| marks.contains(mark));
    match (has(Mark::Sensitive), has(Mark::Ephemeral)) {
        (true, true) => Some("(output suppressed due to sensitive, ephemeral value in config)"),
        (true, false) => Some("(output suppressed due to sensitive value in config)"),
        (false, true) => Some("(output suppressed due to ephemeral value in config)"),
        (false, false) => None,
    }
}
