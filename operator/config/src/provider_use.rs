//! Which provider configuration each resource uses.
//!
//! Rules: Terraform `configs/provider_validation.go`, `terraform/transform_provider.go`.

use ashlar_addr::{LocalProvider, Provider};
use ashlar_diag::{Diag, Diags};

use crate::{load::Loader, provider_name};

impl Loader {
    /// Once all files are read.
    pub(crate) fn resolve_providers(&mut self) {
        // Terraform looks at the use of providers only in a module that is sound by itself.
        let sound = !self.diags.has_errors();
        let mut told = self.duplicate_requirements();
        let module = &self.module;
        let mut resolved = Vec::with_capacity(module.resources.len());
        for (resource, config) in &module.resources {
            let local = &config.local_provider;
            let implied = local.alias.is_none() && &*local.name == resource.implied_provider();
            if implied && let Some(why) = provider_name::type_fault(&local.name) {
                let detail = format!(
                    "The type's first word {:?} is no name for a provider: {why}.",
                    &*local.name
                );
                told.push(Diag::error("Invalid provider local name", detail).at(config.header));
            } else if implied && !module.required_providers.contains_key(&local.name) {
                let provider = Provider::implied(&local.name);
                for (name, _) in module
                    .required_providers
                    .iter()
                    .filter(|(_, entry)| entry.source == provider)
                {
                    let detail = format!(
                        "{resource} uses the provider {} by its implied name, but required_providers names it {name:?}. \
                         Use the same name, or set provider = {name} in the resource.",
                        provider.for_display()
                    );
                    told.push(Diag::warning("Duplicate required provider", detail).at(config.header));
                }
            }
            resolved.push(module.source_of(&local.name));
        }
        let absent: Vec<Diag> = module
            .resources
            .iter()
            .filter(|(_, config)| self.is_absent(&config.local_provider))
            .map(|(resource, config)| {
                let detail = format!(
                    "{resource} uses the provider configuration {}, which no provider block declares. Add the block, or \
                     change the resource's provider argument.",
                    config.local_provider
                );
                Diag::error("Provider configuration not present", detail)
            })
            .collect();
        if !told.has_errors() {
            told.extend(absent);
        }
        if sound {
            self.diags.extend(told);
        }
        for (config, provider) in self.module.resources.values_mut().zip(resolved) {
            config.provider_config.provider = provider;
        }
    }

    /// A default configuration is always there, an aliased one only if it is declared.
    fn is_absent(&self, local: &LocalProvider) -> bool {
        let provider = self.module.source_of(&local.name);
        let same = |declared: &LocalProvider| {
            declared.alias == local.alias && self.module.source_of(&declared.name) == provider
        };
        local.alias.is_some() && !self.module.providers.keys().any(same)
    }

    fn duplicate_requirements(&self) -> Diags {
        let mut diags = Diags::new();
        let required = &self.module.required_providers;
        let mut seen = std::collections::BTreeSet::new();
        for (name, entry) in required {
            let provider = entry.source.for_display();
            let detail = if !seen.insert(&entry.source) {
                format!("The provider {provider} is required by two names. Use one of them.")
            } else if entry.source == Provider::implied(&entry.source.name)
                && *name != entry.source.name
                && self
                    .module
                    .providers
                    .keys()
                    .any(|local| local.name == entry.source.name)
            {
                format!(
                    "The provider {provider} is required as {name:?} and configured as {:?}. Use the same name.",
                    &*entry.source.name
                )
            } else {
                continue;
            };
            diags.push(Diag::warning("Duplicate required provider", detail).at(entry.declared));
        }
        diags
    }
}
