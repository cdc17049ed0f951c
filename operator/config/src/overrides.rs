//! Override files: each of their blocks changes one that the ordinary files hold.
//!
//! Only what is set wins; nested blocks of a type replace all of that type. Rules: Terraform `configs/module_merge.go`.

use std::{collections::BTreeSet, sync::Arc};

use ashlar_addr::{LocalProvider, Mode, Resource};
use ashlar_diag::{Diag, Span};
use ashlar_eval::Variable;
use ashlar_syntax::{Block, ExprKind};
use ashlar_value::convert;

use crate::{
    load::Loader,
    model::{
        ActionConfig, DependsOn, IgnoreChanges, Local, ModuleCall, Output, ProviderBlock, ResourceConfig,
    },
};

/// Names of the arguments that a block sets.
pub(crate) type Set = BTreeSet<Arc<str>>;

/// Is this the name of an override file?
pub(crate) fn is_override(name: &str) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let stem = name.strip_suffix(".json").unwrap_or(name);
    let stem = stem
        .strip_suffix(".tf")
        .or_else(|| stem.strip_suffix(".tofu"))
        .unwrap_or(stem);
    stem == "override" || stem.ends_with("_override")
}

/// The fault of a custom condition in an override file.
pub(crate) fn not_overridden(block: &Block) -> Diag {
    let kind = &block.kind.name;
    let detail = format!("{kind} blocks are not overridden. Change the block itself.");
    Diag::error(format!("Can't override {kind} blocks"), detail).at(block.header())
}

/// Replaces `own` where `over` says something.
fn replace<T>(own: &mut Option<T>, over: Option<T>) {
    if over.is_some() {
        *own = over;
    }
}

impl Loader {
    fn missing_base(&mut self, summary: &'static str, what: &str, at: Span) {
        let detail = format!(
            "An override file changes what is declared in ordinary files, and those declare no {what}."
        );
        self.diags.push(Diag::error(summary, detail).at(at));
    }

    fn no_new_waits(&mut self, waits: &[DependsOn]) {
        if let Some(first) = waits.first() {
            let detail = "depends_on cannot be overridden. Change the block itself.";
            self.diags
                .push(Diag::error("Unsupported override", detail).at(first.traversal.span()));
        }
    }

    pub(crate) fn override_variable(&mut self, over: Variable, set: &Set) {
        let Some(own) = self.module.variables.get_mut(&over.name) else {
            let what = format!("variable {:?}", &*over.name);
            return self.missing_base(
                "Missing base variable declaration to override",
                &what,
                over.declared,
            );
        };
        let has = |name: &str| set.contains(name);
        if has("description") {
            own.description = over.description;
        }
        if has("sensitive") {
            own.sensitive = over.sensitive;
        }
        if has("ephemeral") {
            own.ephemeral = over.ephemeral;
        }
        if has("const") {
            own.constant = over.constant;
            own.never_constant = over.never_constant;
        }
        if has("nullable") {
            own.nullable = over.nullable;
        }
        if has("type") {
            // Defaults of optional attributes stay those of the base, as in Terraform.
            own.ty = over.ty;
            own.parse = over.parse;
        }
        replace(&mut own.default, over.default);
        if let Some(default) = &own.default {
            let summary = "Invalid default value for variable";
            match convert(default, &own.ty) {
                Ok(value) => own.default = Some(value),
                Err(error) => {
                    let detail = format!(
                        "With the override the default does not fit the type: {}.",
                        error.message
                    );
                    self.diags.push(Diag::error(summary, detail).at(over.declared));
                }
            }
            if !own.nullable && own.default.as_ref().is_some_and(|value| value.is_null()) {
                let detail = "With nullable = false the default cannot be null.";
                self.diags.push(Diag::error(summary, detail).at(over.declared));
            }
        }
    }

    pub(crate) fn override_local(&mut self, name: &Arc<str>, over: Local, place: Span) {
        match self.module.locals.get_mut(name) {
            Some(own) => *own = over,
            None => {
                let what = format!("local value {name:?}");
                self.missing_base("Missing base local value definition to override", &what, place);
            }
        }
    }

    pub(crate) fn override_output(&mut self, name: &Arc<str>, over: Output, set: &Set) {
        let Some(own) = self.module.outputs.get_mut(name) else {
            let what = format!("output {name:?}");
            return self.missing_base("Missing base output definition to override", &what, over.header);
        };
        replace(&mut own.description, over.description);
        if !matches!(over.value.kind, ExprKind::Broken) {
            own.value = over.value;
        }
        if set.contains("sensitive") {
            own.sensitive = over.sensitive;
        }
        if set.contains("ephemeral") {
            own.ephemeral = over.ephemeral;
        }
        if set.contains("type") {
            own.ty = over.ty;
            own.defaults = over.defaults;
        }
        self.no_new_waits(&over.depends_on);
    }

    pub(crate) fn override_call(&mut self, name: Arc<str>, over: ModuleCall) {
        let Some(own) = self.module.calls.get_mut(&name) else {
            let what = format!("module {:?}", &*name);
            return self.missing_base("Missing module call to override", &what, over.header);
        };
        replace(&mut own.source, over.source);
        replace(&mut own.version, over.version);
        replace(&mut own.count, over.count);
        replace(&mut own.for_each, over.for_each);
        replace(&mut own.enabled, over.enabled);
        own.body.overlay(over.body);
        if !over.providers.is_empty() {
            own.providers = over.providers;
        }
        self.no_new_waits(over.depends_on.as_deref().unwrap_or_default());
    }

    pub(crate) fn override_provider(&mut self, local: LocalProvider, over: ProviderBlock) {
        match self.module.providers.get_mut(&local) {
            Some(own) => {
                replace(&mut own.version, over.version);
                replace(&mut own.for_each, over.for_each);
                own.body.overlay(over.body);
            }
            // A default configuration is always there, if empty.
            None if local.alias.is_none() => {
                self.module.providers.insert(local, over);
            }
            None => {
                let what = format!("provider configuration {local}");
                let summary = "Missing base provider configuration for override";
                self.missing_base(summary, &what, over.header);
            }
        }
    }

    pub(crate) fn override_resource(&mut self, resource: Resource, over: ResourceConfig) {
        let summary = match resource.mode {
            Mode::Managed => "Missing resource to override",
            Mode::Data => "Missing data resource to override",
            // Terraform passes these over.
            Mode::Ephemeral => return,
        };
        let Some(own) = self.module.resources.get_mut(&resource) else {
            return self.missing_base(summary, &resource.to_string(), over.header);
        };
        replace(&mut own.count, over.count);
        replace(&mut own.for_each, over.for_each);
        if over.is_provider_named {
            own.local_provider = over.local_provider;
            own.is_provider_named = true;
            own.provider_key = over.provider_key;
            own.provider_span = over.provider_span;
        }
        replace(&mut own.lifecycle.enabled, over.lifecycle.enabled.clone());
        if resource.mode == Mode::Managed {
            let (mine, theirs) = (&mut own.lifecycle, over.lifecycle);
            replace(&mut own.connection, over.connection);
            replace(&mut mine.create_before_destroy, theirs.create_before_destroy);
            if theirs.prevent_destroy.is_some() || theirs.prevent_destroy_when.is_some() {
                mine.prevent_destroy = theirs.prevent_destroy;
                mine.prevent_destroy_when = theirs.prevent_destroy_when;
            }
            replace(&mut mine.destroy, theirs.destroy);
            // What ignores all changes goes on to do so.
            let all = matches!(mine.ignore_changes, IgnoreChanges::All);
            if !all && !matches!(theirs.ignore_changes, IgnoreChanges::None) {
                mine.ignore_changes = theirs.ignore_changes;
                mine.ignored = theirs.ignored;
            }
            if !theirs.action_triggers.is_empty() {
                mine.action_triggers = theirs.action_triggers;
            }
            if !over.provisioners.is_empty() {
                own.provisioners = over.provisioners;
            }
        }
        own.body.overlay(over.body);
        self.no_new_waits(&over.depends_on);
    }

    pub(crate) fn override_action(&mut self, key: (Arc<str>, Arc<str>), over: ActionConfig) {
        let Some(own) = self.module.actions.get_mut(&key) else {
            let what = format!("action.{}.{}", key.0, key.1);
            return self.missing_base("Missing resource to override", &what, over.header);
        };
        replace(&mut own.count, over.count);
        replace(&mut own.for_each, over.for_each);
        if over.is_provider_named {
            own.local_provider = over.local_provider;
            own.is_provider_named = true;
        }
        own.body.overlay(over.body);
    }
}
