//! A `resource`, `data` or `ephemeral` block with its `lifecycle` and provisioners.

use std::sync::Arc;

use ashlar_addr::{LocalProvider, Module as ModuleAddr, ProviderConfig};
use ashlar_diag::{Diags, Span};
use ashlar_eval::{CheckRule, Subject, evaluate_constant};
use ashlar_syntax::{Attribute, Body, Expr, Traversal};
use ashlar_value::Path;

use super::action::ActionTrigger;

/// A `resource` or `data` block.
#[derive(Clone, Debug)]
pub struct ResourceConfig {
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration in use, as the module names it.
    pub local_provider: LocalProvider,
    /// Is it named, not implied by the type?
    pub is_provider_named: bool,
    /// Which of several provider configurations, where they are repeated. (OpenTofu)
    pub provider_key: Option<Expr>,
    /// The place of the provider's local name, where it is named.
    pub provider_span: Option<Span>,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// Which of several, where a call of a module around it says so: the called module, and the key as the call has it.
    /// (OpenTofu)
    pub passed_key: Option<(ModuleAddr, Expr)>,
    /// What it waits for beside its references.
    pub depends_on: Vec<DependsOn>,
    /// Faults of entries of `depends_on` that name nothing: told when the others are looked at.
    pub depends_on_faults: Diags,
    /// The `lifecycle` block.
    pub lifecycle: Lifecycle,
    /// How its objects are reached by provisioners.
    pub connection: Option<Body>,
    /// What is run when an object is created or destroyed.
    pub provisioners: Vec<Provisioner>,
    /// The check block around it, which alone can refer to it.
    pub check: Option<Arc<str>>,
    /// The arguments for the provider, meta-arguments taken out.
    pub body: Body,
    /// The place of the type.
    pub kind: Span,
    /// The block's header.
    pub header: Span,
}

impl ResourceConfig {
    /// Has it preconditions or postconditions?
    pub fn has_conditions(&self) -> bool {
        !self.lifecycle.preconditions.is_empty() || !self.lifecycle.postconditions.is_empty()
    }

    /// All expressions outside its body.
    pub fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let lifecycle = &self.lifecycle;
        self.count
            .iter()
            .chain(&self.for_each)
            .chain(&self.provider_key)
            .chain(lifecycle.enabled.iter().map(|attribute| &attribute.expr))
            .chain(&lifecycle.prevent_destroy_when)
            .chain(&lifecycle.replace_triggered_by)
            .chain(rules(&lifecycle.preconditions))
            .chain(rules(&lifecycle.postconditions))
    }
}

/// One entry of `depends_on`.
#[derive(Clone, Debug)]
pub struct DependsOn {
    /// What is waited for.
    pub subject: Subject,
    /// Its place.
    pub span: Span,
    /// As it is written.
    pub traversal: Traversal,
}

/// A `lifecycle` block.
#[derive(Clone, Debug, Default)]
pub struct Lifecycle {
    /// Does the replacement come before the destruction? `None` if nothing is said.
    pub create_before_destroy: Option<bool>,
    /// Is destroying it an error? `None` if nothing is said.
    pub prevent_destroy: Option<bool>,
    /// The same, where it is no constant (OpenTofu).
    pub prevent_destroy_when: Option<Expr>,
    /// Is there an object at all? (OpenTofu)
    pub enabled: Option<Attribute>,
    /// Is the object destroyed when it goes, not only forgotten? (OpenTofu)
    pub destroy: Option<Expr>,
    /// Which changes of the configuration are not followed.
    pub ignore_changes: IgnoreChanges,
    /// The paths of `ignore_changes` as they are written.
    pub ignored: Vec<Traversal>,
    /// Changes of these force a replacement.
    pub replace_triggered_by: Vec<Expr>,
    /// Actions that changes trigger.
    pub action_triggers: Vec<ActionTrigger>,
    /// What must hold before it is looked at.
    pub preconditions: Vec<CheckRule>,
    /// What must hold once it is planned, read or applied.
    pub postconditions: Vec<CheckRule>,
}

impl Lifecycle {
    /// Are objects left alone where they would be destroyed, and only forgotten? (OpenTofu)
    pub fn keeps_objects(&self) -> bool {
        let destroy = self.destroy.as_ref().map(evaluate_constant);
        destroy.is_some_and(|(value, _)| value.as_bool() == Some(false))
    }
}

/// `ignore_changes`.
#[derive(Clone, Debug, Default)]
pub enum IgnoreChanges {
    /// Nothing is ignored.
    #[default]
    None,
    /// All changes are.
    All,
    /// Changes at these paths are.
    Paths(Vec<(Path, Span)>),
}

/// A `provisioner` block.
#[derive(Clone, Debug)]
pub struct Provisioner {
    /// `local-exec`, `remote-exec`, `file`.
    pub kind: Arc<str>,
    /// Is it run when the object is destroyed, not when it is created?
    pub on_destroy: bool,
    /// Does the run go on if it fails?
    pub tolerated: bool,
    /// Its own arguments.
    pub body: Body,
    /// How the object is reached, if not as the resource says.
    pub connection: Option<Body>,
    /// Where a missing argument is blamed.
    pub open: Span,
    /// The place of the type.
    pub kind_span: Span,
    /// The block's header.
    pub header: Span,
}

/// The expressions of conditions.
pub(super) fn rules(rules: &[CheckRule]) -> impl Iterator<Item = &Expr> {
    rules
        .iter()
        .flat_map(|rule| [&rule.condition, &rule.error_message])
}
