//! Which of a repeated provider configuration an instance of a resource is managed with. (OpenTofu)
//!
//! Decided where an instance is planned, and kept with the change and in the state; apply never decides it anew. Source:
//! OpenTofu `internal/tofu/node_resource_abstract_instance.go` (`resolveProvider`), `eval_provider.go`.

use ashlar_addr::{DeposedKey, InstanceKey, ModuleInstance, ProviderConfig, ResourceInstance};
use ashlar_config::{ResourceConfig, Tree};
use ashlar_diag::{Diag, Diags};
use ashlar_eval::{Scope, evaluate};
use ashlar_syntax::Expr;
use ashlar_value::{Mark, Type, convert};

use crate::{
    engine::Engine,
    values::{ModuleValues, Repetition},
};

const INVALID: &str = "Invalid provider instance key";

impl Engine<'_> {
    /// The provider configuration of an instance that is configured.
    pub fn provider_of(
        &self,
        config: &ResourceConfig,
        module: &ModuleValues<'_>,
        address: &ResourceInstance,
        repetition: &Repetition,
    ) -> Result<ProviderConfig, Diags> {
        let key = if let Some(expr) = &config.provider_key {
            read(expr, &module.instance_scope(repetition.clone(), None), address)?
        } else if let Some((called, expr)) = &config.passed_key {
            self.passed(called.0.len(), expr, address)
                .ok_or_else(|| fallback_fault(config, None, address))??
        } else {
            InstanceKey::None
        };
        let provider = config.provider_config.with_key(key);
        is_there(self.tree, &provider, address, None)?;
        Ok(provider)
    }

    /// The provider configuration of an object that is not wanted any more, of a resource that is configured: what no key can
    /// be evaluated for any more is managed with the one that state names.
    pub(crate) fn provider_of_other(
        &self,
        config: &ResourceConfig,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        stored: &ProviderConfig,
        wanted: Option<(&ModuleValues<'_>, &Repetition)>,
    ) -> Result<ProviderConfig, Diags> {
        let own = match (&config.provider_key, &config.passed_key) {
            (Some(expr), _) => wanted.map(|(module, repetition)| {
                read(expr, &module.instance_scope(repetition.clone(), None), address)
            }),
            (None, Some((called, expr))) => self.passed(called.0.len(), expr, address),
            (None, None) => Some(Ok(InstanceKey::None)),
        };
        let provider = match own {
            Some(key) => config.provider_config.with_key(key?),
            None if stored.whole() == config.provider_config => stored.clone(),
            None => return Err(fallback_fault(config, Some(stored), address)),
        };
        is_there(self.tree, &provider, address, deposed)?;
        Ok(provider)
    }

    /// The provider configuration of an object that is destroyed with all others: none is wanted any more, so state tells.
    pub(crate) fn provider_by_state(
        &self,
        config: Option<&ResourceConfig>,
        address: &ResourceInstance,
        deposed: Option<DeposedKey>,
        stored: &ProviderConfig,
    ) -> Result<ProviderConfig, Diags> {
        let provider = match config {
            None => stored.clone(),
            Some(config) if config.provider_key.is_none() && config.passed_key.is_none() => {
                config.provider_config.clone()
            }
            Some(config) if stored.whole() == config.provider_config => stored.clone(),
            Some(config) => return Err(fallback_fault(config, Some(stored), address)),
        };
        is_there(self.tree, &provider, address, deposed)?;
        Ok(provider)
    }

    /// The key that the call of a module around says, `depth` modules deep; `None` where that has no such instance.
    fn passed(
        &self,
        depth: usize,
        expr: &Expr,
        address: &ResourceInstance,
    ) -> Option<Result<InstanceKey, Diags>> {
        let steps = address.resource.module.0.get(..depth)?;
        let (_, outer) = steps.split_last()?;
        let called = self.values.instance(&ModuleInstance(steps.into()))?;
        let caller = self.values.instance(&ModuleInstance(outer.into()))?;
        let scope = caller.instance_scope(called.repetition.clone(), None);
        Some(read(expr, &scope, address))
    }
}

/// Evaluates a key.
fn read(expr: &Expr, scope: &dyn Scope, address: &ResourceInstance) -> Result<InstanceKey, Diags> {
    let fail = |detail: String| Diags::from(Diag::error(INVALID, detail).at(expr.span));
    let (value, diags) = evaluate(expr, scope);
    if diags.has_errors() {
        return Err(diags);
    }
    for (mark, word) in [(Mark::Sensitive, "sensitive"), (Mark::Ephemeral, "ephemeral")] {
        if value.marks().contains(mark) {
            return Err(fail(format!(
                "The key is {word}, and it is shown and kept with {address}. Use a key that is not."
            )));
        }
    }
    let (value, _) = value.unmark();
    if value.is_null() {
        return Err(fail(format!(
            "The key is null, so it names no provider configuration for {address}."
        )));
    }
    if !value.is_known() {
        return Err(fail(format!(
            "The key is known only after apply, so it cannot be told which provider configuration is to plan {address}. Make it \
             depend on known values only, or apply what it depends on first."
        )));
    }
    let text = convert(&value, &Type::String)
        .map_err(|fault| fail(format!("The key is unsuitable: {}.", fault.message)))?;
    match text.as_str() {
        Some(key) => Ok(InstanceKey::String(key.clone())),
        None => Err(fail("The key is unsuitable: a string is required.".to_owned())),
    }
}

/// The fault of an object that nothing can manage: its provider configuration is not there, though others of the same block
/// are, or the block is not repeated any more, or only now.
fn is_there(
    tree: &Tree,
    provider: &ProviderConfig,
    address: &ResourceInstance,
    deposed: Option<DeposedKey>,
) -> Result<(), Diags> {
    let block = tree.provider_block(provider);
    let instances = block.and_then(|block| block.instances.as_ref());
    let which = deposed
        .map(|key| format!(" (deposed object {key})"))
        .unwrap_or_default();
    let detail = match (&provider.key, instances) {
        (InstanceKey::None, None) => return Ok(()),
        (InstanceKey::String(key), Some(instances)) if instances.contains_key(key) => return Ok(()),
        (InstanceKey::None, Some(_)) => format!(
            "{address}{which} is managed with {provider}, which is one configuration no more: its block has a for_each now. Take \
             the for_each out until the object is destroyed or forgotten, or have its resource name one of them."
        ),
        _ => format!(
            "{address}{which} is managed with {provider}, which the configuration does not hold (any more). Put the element back \
             into the for_each of the provider block until the object is destroyed. Where the resource and the provider block \
             are repeated for the same, an object and what could destroy it always go together: let the provider block be \
             repeated for more."
        ),
    };
    Err(Diag::error("Provider instance not present", detail).into())
}

fn fallback_fault(
    config: &ResourceConfig,
    stored: Option<&ProviderConfig>,
    address: &ResourceInstance,
) -> Diags {
    let now = &config.provider_config;
    let before = stored.map_or_else(|| "another one".to_owned(), ToString::to_string);
    let detail = format!(
        "{address} is not wanted any more, so no key says which configuration it is managed with, and the one that state names \
         is {before}, not one of {now}. Set the provider of its resource back until the object is destroyed."
    );
    Diag::error("Unable to use fallback provider from state", detail).into()
}
