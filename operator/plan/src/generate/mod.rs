//! Imports into resources that nothing declares: the object is found first, and its configuration is made up from it.
//!
//! Source: Terraform `importState`, `generateHCLResourceDef` and `generateResourceConfig` in
//! `internal/terraform/node_resource_plan_instance.go`.

mod hcl;

use std::{collections::BTreeMap, sync::Arc};

use ashlar_addr::{ConfigResource, ProviderConfig, ResourceInstance};
use ashlar_config::{Import, ResourceConfig};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_port::Provider;
use ashlar_value::{Value, schema::Schema};

use crate::{
    Plan,
    engine::Engine,
    imports,
    instance::{Instance, Live},
    model::{Importing, Mode},
    provider_diags::unplaced,
    values::Repetition,
    walk::PlanWalk,
};

/// What is made up for one instance: the text of its block.
pub(crate) type Generated = BTreeMap<ResourceInstance, Arc<str>>;

/// The text of the file that takes up what was made up; nothing if nothing was.
pub fn generated_file(plan: &Plan) -> Option<String> {
    if plan.generated.is_empty() {
        return None;
    }
    let mut text =
        String::from("# Made up from imported objects. Look it through, and move it to where it belongs.\n");
    for (address, block) in &plan.generated {
        let change = plan.changes.iter().find(|change| change.address == *address);
        let from = match change.and_then(|change| change.importing.as_ref()) {
            Some(Importing::Id(id)) => id.as_str().map_or_else(String::new, |id| format!(" {id:?}")),
            Some(Importing::Identity(_)) | None => String::new(),
        };
        text.push_str(&format!("\n# Imported{from}.\n{block}\n"));
    }
    Some(text)
}

/// What is remarked where something was made up.
pub(crate) fn remark() -> Diag {
    let detail = "The configuration of imported objects was made up from what their provider tells. It may not be what you would \
                  write: look it through before you keep it.";
    Diag::warning("Config generation is experimental", detail)
}

impl<'a> PlanWalk<'_, 'a> {
    /// Visits a resource that is imported into but not declared.
    pub(crate) async fn visit_made_up(&self, resource: &ConfigResource) -> Result<Diags, Diags> {
        if self.options.mode != Mode::Normal {
            return Ok(Diags::new());
        }
        let tree = self.engine.tree;
        let own = |import: &&Import| import.resource == (resource.module.clone(), resource.resource.clone());
        let Some((import, provider_config)) = tree
            .root()
            .imports
            .iter()
            .find(own)
            .zip(tree.provider_of_made_up(resource))
        else {
            return Ok(Diags::new());
        };
        if !self.generates {
            return Err(imports::undeclared(import).into());
        }
        let targets = imports::targets(self.engine, resource, &provider_config, |_| false)?;
        let mut diags = Diags::new();
        for (address, of) in targets
            .iter()
            .filter(|(address, _)| self.options.selection.takes(address))
        {
            diags.extend(self.make_up(address, of, &provider_config).await?);
        }
        Ok(diags)
    }

    async fn make_up(
        &self,
        address: &ResourceInstance,
        of: &Importing,
        provider_config: &ProviderConfig,
    ) -> Result<Diags, Diags> {
        let schema = self
            .engine
            .resource_schema(&provider_config.provider, &address.resource.resource)?;
        let provider = self.engine.provider(provider_config)?;
        let empty = read(address, provider_config, "")?;
        let (found, mut diags) = self
            .made_up(address, &empty, schema)
            .import(&*provider, of)
            .await?;
        let of_object = configured(self.engine, &*provider, provider_config, address, &found).await?;
        let written = |named: Option<&str>| {
            let (value, is_state) = &of_object;
            hcl::body(&schema.block, value, *is_state, named)
        };
        let config = read(address, provider_config, &written(None))?;
        let instance = self.made_up(address, &config, schema);
        let outcome = instance
            .plan_managed(None, Some(of), Some(found), self.options, Ok(false))
            .await
            .map_err(nowhere)?;
        let (_, remarks) = self.keep(&instance, outcome).map_err(nowhere)?;
        diags.extend(nowhere(remarks));
        crate::lock(&self.found).generated.insert(
            address.clone(),
            block(address, &written(named(address, provider_config).as_deref())).into(),
        );
        Ok(diags)
    }

    fn made_up<'i>(
        &'i self,
        address: &ResourceInstance,
        config: &'i ResourceConfig,
        schema: &'i Schema,
    ) -> Instance<'i, 'a> {
        Instance {
            engine: self.engine,
            address: address.clone(),
            module: self.engine.values.root().clone(),
            config,
            provider: config.provider_config.clone(),
            schema,
            repetition: Repetition::default(),
            dependencies: Arc::default(),
            create_before_destroy: false,
        }
    }
}

/// The configuration of an object as it is, or its state, from which it can be made up; and whether it is that.
async fn configured(
    engine: &Engine<'_>,
    provider: &dyn Provider,
    provider_config: &ProviderConfig,
    address: &ResourceInstance,
    found: &Live,
) -> Result<(Value, bool), Diags> {
    let (state, _) = found.value.clone().unmark_deep();
    let offers = engine.schemas.get(&provider_config.provider);
    if !offers.is_some_and(|offers| offers.generate_resource_config) {
        return Ok((state, true));
    }
    let answer = {
        let _permit = engine.permit().await;
        provider
            .generate_config(&address.resource.resource.kind, &state)
            .await
    };
    let diags = unplaced(answer.diags);
    if diags.has_errors() {
        return Err(diags);
    }
    let config = answer.value.filter(Value::is_wholly_known);
    config
        .map(|config| (config, false))
        .ok_or_else(|| {
            let detail = format!(
                "The provider was asked for a configuration of {address} and gave none that is known. This is a fault of the \
                 provider; tell its developers."
            );
            Diag::error("Provider produced invalid config", detail).into()
        })
}

/// How a provider configuration must be named in the block, if the type does not imply it.
fn named(address: &ResourceInstance, provider: &ProviderConfig) -> Option<String> {
    let local = &provider.provider.name;
    match &provider.alias {
        Some(alias) => Some(format!("{local}.{alias}")),
        None if address.resource.resource.implied_provider() == &**local => None,
        None => Some(local.to_string()),
    }
}

/// The whole block.
fn block(address: &ResourceInstance, body: &str) -> String {
    let resource = &address.resource.resource;
    format!(
        "resource \"{}\" \"{}\" {{\n{body}}}",
        resource.kind, resource.name
    )
}

/// Reads a block back, as one of a file.
fn read(address: &ResourceInstance, provider: &ProviderConfig, body: &str) -> Result<ResourceConfig, Diags> {
    let resource = &address.resource.resource;
    let text = format!(
        "resource \"{}\" \"{}\" {{\n{body}}}\n",
        resource.kind, resource.name
    );
    let files = vec![("generated.tf".into(), text.into())];
    let dialect = ashlar_value::Dialect::Terraform;
    let (tree, faults) = ashlar_config::load(files, dialect, &BTreeMap::new(), &mut (), &mut Sources::new());
    match tree.root().resources.get(resource) {
        Some(config) if !faults.has_errors() => Ok(ResourceConfig {
            provider_config: provider.clone(),
            ..config.clone()
        }),
        _ => Err(nowhere(faults)),
    }
}

/// Diagnostics without their places: the text that they point into was never anybody's.
fn nowhere(diags: Diags) -> Diags {
    diags.map(|mut diag| {
        diag.subject = None;
        diag
    })
}
