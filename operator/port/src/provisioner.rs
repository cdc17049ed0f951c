//! What runs provisioners: programs here, and commands and files on the machines that a connection reaches.

use ashlar_value::Value;
use async_trait::async_trait;

use crate::ProviderDiag;

/// Takes what a provisioner says, line by line, without what must not be shown. Must not block.
pub type Hearer<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// Asks to run one provisioner. Values come wholly known and without marks.
#[derive(Clone, Copy)]
pub struct ProvisionRequest<'a> {
    /// `local-exec`, `remote-exec`, `file`.
    pub kind: &'a str,
    /// Its arguments.
    pub config: &'a Value,
    /// How the object is reached; null if nothing says.
    pub connection: &'a Value,
    /// Are its arguments sensitive? Then no remark shows them or what came of them.
    pub is_secret: bool,
    /// Who hears what it says.
    pub hearer: Hearer<'a>,
}

/// Where provisioners are run.
#[async_trait]
pub trait Provisioners: Send + Sync {
    /// Runs one; an error among the remarks means that it failed.
    async fn provision(&self, request: ProvisionRequest<'_>) -> Vec<ProviderDiag>;

    /// Ends what runs, and starts nothing more.
    async fn stop(&self);
}
