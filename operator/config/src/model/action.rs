//! An `action` block, and what triggers actions.

use ashlar_addr::{LocalProvider, ProviderConfig};
use ashlar_diag::Span;
use ashlar_syntax::{Body, Expr};

/// An `action` block.
#[derive(Clone, Debug)]
pub struct ActionConfig {
    /// How many.
    pub count: Option<Expr>,
    /// For each of what.
    pub for_each: Option<Expr>,
    /// The provider configuration in use, as the module names it.
    pub local_provider: LocalProvider,
    /// Is it named, not implied by the type?
    pub is_provider_named: bool,
    /// The provider configuration in use, resolved.
    pub provider_config: ProviderConfig,
    /// The `config` block's content.
    pub body: Body,
    /// Where a missing argument is blamed, if there is a `config` block.
    pub open: Option<Span>,
    /// The place of the type.
    pub kind: Span,
    /// The block's header.
    pub header: Span,
}

/// What can trigger an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each is what it names")]
pub enum TriggerEvent {
    BeforeCreate,
    AfterCreate,
    BeforeUpdate,
    AfterUpdate,
}

impl TriggerEvent {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::BeforeCreate,
        Self::AfterCreate,
        Self::BeforeUpdate,
        Self::AfterUpdate,
    ];

    /// As a configuration names it.
    pub fn word(self) -> &'static str {
        match self {
            Self::BeforeCreate => "before_create",
            Self::AfterCreate => "after_create",
            Self::BeforeUpdate => "before_update",
            Self::AfterUpdate => "after_update",
        }
    }

    /// Does the action come before the change?
    pub fn is_before(self) -> bool {
        matches!(self, Self::BeforeCreate | Self::BeforeUpdate)
    }
}

/// An `action_trigger` block of a resource.
#[derive(Clone, Debug)]
pub struct ActionTrigger {
    /// What triggers it.
    pub events: Vec<TriggerEvent>,
    /// Whether it is triggered.
    pub condition: Option<Expr>,
    /// References to actions.
    pub actions: Vec<Expr>,
    /// The block's header.
    pub header: Span,
}
