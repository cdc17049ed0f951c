//! A provider as the engine sees it, whatever protocol and transport stand behind it.
//!
//! Values go out without marks and come back without marks. An implementation turns a dead, hanging or nonsensical
//! provider into an error that names it; the engine checks what the answers *mean*.

use std::{fmt, sync::Arc};

use ashlar_diag::{Diags, Severity};
use ashlar_value::{Path, Value, schema::ProviderSchema};
use async_trait::async_trait;

/// A remark of a provider; the engine gives it a place in source.
#[derive(Clone, Debug, PartialEq)]
pub struct ProviderDiag {
    /// Error or warning.
    pub severity: Severity,
    /// The provider's words.
    pub summary: String,
    /// The provider's words.
    pub detail: String,
    /// The argument meant.
    pub path: Option<Path>,
    /// Set where it is about the call itself (a dead plugin, nonsense on the wire), not about a configuration.
    pub fault: Option<CallFault>,
}

/// What is wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFault {
    /// It was not made, so whatever it was to do was not begun.
    NotAsked,
    /// It was or may have been made, and there is no answer that makes sense: nobody knows what it did.
    NotHeard,
}

/// Is what was asked for known to be over, or never begun, whatever came of it?
pub fn was_heard(remarks: &[ProviderDiag]) -> bool {
    remarks
        .iter()
        .all(|remark| remark.fault != Some(CallFault::NotHeard))
}

/// A value beside the remarks made on the way. With an error among them, `value` may still hold what is known.
#[derive(Clone, Debug)]
pub struct Answer<T> {
    /// The result.
    pub value: T,
    /// In the order given.
    pub diags: Vec<ProviderDiag>,
}

impl<T> Answer<T> {
    /// A result without remarks.
    pub fn ok(value: T) -> Self {
        Self {
            value,
            diags: Vec::new(),
        }
    }

    /// Is there an error among the remarks?
    pub fn has_errors(&self) -> bool {
        self.diags.iter().any(|diag| diag.severity == Severity::Error)
    }
}

/// Why a provider put something off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the protocol's own names")]
pub enum Deferred {
    Unknown,
    ResourceConfigUnknown,
    ProviderConfigUnknown,
    AbsentPrereq,
}

/// Asks to bring a stored object up to the present schema.
#[derive(Clone)]
pub struct UpgradeRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// Schema version the object was stored with.
    pub version: i64,
    /// The object as JSON by that schema.
    pub json: &'a [u8],
}

/// Asks to make an object of another type, or of another provider, one of a type of this provider.
#[derive(Clone)]
pub struct MoveRequest<'a> {
    /// The provider it is managed with so far, as its address is written.
    pub source_provider: &'a str,
    /// Its type so far.
    pub source_kind: &'a str,
    /// Schema version it was stored with.
    pub version: i64,
    /// The object as JSON by that schema.
    pub json: &'a [u8],
    /// What the provider stored with it.
    pub private: &'a [u8],
    /// Its identity as JSON with the version of its schema, if it has one.
    pub identity: Option<(i64, &'a [u8])>,
    /// The type it becomes.
    pub kind: &'a str,
}

/// An object that was moved to another type.
#[derive(Clone, Default)]
pub struct MovedObject {
    /// `None` if the provider gave nothing at all.
    pub state: Option<Value>,
    /// To be stored with it.
    pub private: Vec<u8>,
    /// Its identity.
    pub identity: Option<Value>,
}

/// Asks for an object that is there and not managed yet.
#[derive(Clone)]
pub struct ImportRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// Which object, by id or by identity.
    pub of: Imported<'a>,
    /// Whether the provider may defer.
    pub deferral_allowed: bool,
}

/// How an object to be imported is named.
#[derive(Clone, Copy)]
pub enum Imported<'a> {
    /// By its id.
    Id(&'a str),
    /// By its identity.
    Identity(&'a Value),
}

/// An object that was found for an import.
#[derive(Clone)]
pub struct ImportedObject {
    /// Its type.
    pub kind: String,
    /// What is known of it; `None` if the provider gave nothing at all.
    pub state: Option<Value>,
    /// To be stored with it.
    pub private: Vec<u8>,
    /// Its identity.
    pub identity: Option<Value>,
}

/// Asks for the present state of an object.
#[derive(Clone)]
pub struct ReadRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// The object as last known.
    pub current: &'a Value,
    /// What the provider stored with it.
    pub private: &'a [u8],
    /// Its identity.
    pub identity: Option<&'a Value>,
    /// Whether the provider may defer.
    pub deferral_allowed: bool,
    /// What the module that declares it tells the provider about itself (`provider_meta`), if anything.
    pub meta: Option<&'a Value>,
}

/// The present state of an object.
#[derive(Clone)]
pub struct Read {
    /// Null if it is gone; `None` if the provider gave nothing at all.
    pub state: Option<Value>,
    /// To be stored with it.
    pub private: Vec<u8>,
    /// Its identity.
    pub identity: Option<Value>,
    /// Put off.
    pub deferred: Option<Deferred>,
}

/// Asks to plan one instance.
#[derive(Clone)]
pub struct PlanRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// Prior state; null to create.
    pub prior: &'a Value,
    /// Proposed new state; null to delete.
    pub proposed: &'a Value,
    /// Configuration; null to delete.
    pub config: &'a Value,
    /// What the provider stored with the prior state.
    pub private: &'a [u8],
    /// Identity of the prior state.
    pub identity: Option<&'a Value>,
    /// Whether the provider may defer.
    pub deferral_allowed: bool,
    /// What the module that declares it tells the provider about itself (`provider_meta`), if anything.
    pub meta: Option<&'a Value>,
}

/// One planned instance.
#[derive(Clone)]
pub struct Planned {
    /// The planned new state; `None` if the provider gave nothing at all.
    pub state: Option<Value>,
    /// Paths whose change forces replacement.
    pub requires_replace: Vec<Path>,
    /// To be handed to apply.
    pub private: Vec<u8>,
    /// The planned identity.
    pub identity: Option<Value>,
    /// Does the provider follow the lax rules of the old SDK?
    pub legacy_type_system: bool,
    /// Put off.
    pub deferred: Option<Deferred>,
}

/// Asks to make a planned change.
#[derive(Clone)]
pub struct ApplyRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// Prior state.
    pub prior: &'a Value,
    /// Planned state.
    pub planned: &'a Value,
    /// Configuration.
    pub config: &'a Value,
    /// What the plan handed on.
    pub private: &'a [u8],
    /// The planned identity.
    pub identity: Option<&'a Value>,
    /// What the module that declares it tells the provider about itself (`provider_meta`), if anything.
    pub meta: Option<&'a Value>,
}

/// What came of a change.
#[derive(Clone)]
pub struct Applied {
    /// The new state; `None` if the provider gave nothing at all.
    pub state: Option<Value>,
    /// To be stored with it.
    pub private: Vec<u8>,
    /// Its identity.
    pub identity: Option<Value>,
    /// Does the provider follow the lax rules of the old SDK?
    pub legacy_type_system: bool,
}

/// Asks to read a data source.
#[derive(Clone)]
pub struct ReadDataRequest<'a> {
    /// Data source type.
    pub kind: &'a str,
    /// Configuration, wholly known.
    pub config: &'a Value,
    /// Whether the provider may defer.
    pub deferral_allowed: bool,
    /// What the module that declares it tells the provider about itself (`provider_meta`), if anything.
    pub meta: Option<&'a Value>,
}

/// Asks for the objects of a type that are there, whoever made them.
#[derive(Clone)]
pub struct ListRequest<'a> {
    /// Resource type.
    pub kind: &'a str,
    /// What the `config` block says, wholly known.
    pub config: &'a Value,
    /// Are the objects themselves wanted too?
    pub with_objects: bool,
    /// At most so many; what comes after is not waited for.
    pub limit: u64,
}

/// An object that is there.
#[derive(Clone)]
pub struct Listed {
    /// Its identity.
    pub identity: Value,
    /// What the provider calls it, for people.
    pub display_name: String,
    /// The object, if it was wanted and the provider gave it.
    pub object: Option<Value>,
}

/// An ephemeral resource that was opened.
#[derive(Clone)]
pub struct Opened {
    /// What it gives; `None` if the provider gave nothing at all.
    pub result: Option<Value>,
    /// To be handed back when it is renewed and closed.
    pub private: Vec<u8>,
    /// When it has to be renewed, in milliseconds since 1970 ([`crate::Outside::unix_ms`]); never if `None`.
    pub renew_at: Option<u64>,
    /// Put off.
    pub deferred: Option<Deferred>,
}

/// An ephemeral resource that was renewed.
#[derive(Clone, Default)]
pub struct Renewed {
    /// To be handed back from now on.
    pub private: Vec<u8>,
    /// When it has to be renewed again, as in [`Opened::renew_at`].
    pub renew_at: Option<u64>,
}

/// Why a function gave nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionFault {
    /// The position of the argument at fault, as the provider counts.
    pub argument: Option<i64>,
    /// The provider's words, or those about a call that has no answer.
    pub message: String,
}

/// Takes what a provider says while it works; must not block.
pub type Told<'a> = &'a (dyn Fn(&str) + Send + Sync);

/// One running provider, not configured yet or configured once.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What it offers. Asked of the plugin at most once.
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags>;

    /// May its changes reach anything outside this process? Only then are they announced in the journal before they are begun, and
    /// waited for until they stand there.
    fn has_effects(&self) -> bool {
        true
    }

    /// What it is configured with is not to outlive the run: no other run is given it.
    fn keep_apart(&self) {}

    /// It is used for the provider configuration of this address. Told before it is configured, or where it was already.
    fn stands_for(&self, configuration: &str) {
        let _ = configuration;
    }

    /// Checks a provider configuration, which may hold unknown values.
    async fn validate_provider(&self, config: &Value) -> Vec<ProviderDiag>;

    /// Configures it; may hold unknown values only while planning.
    async fn configure(&self, config: &Value) -> Vec<ProviderDiag>;

    /// Checks a resource configuration, which may hold unknown values.
    async fn validate_resource(&self, kind: &str, config: &Value) -> Vec<ProviderDiag>;

    /// Checks a data source configuration, which may hold unknown values.
    async fn validate_data(&self, kind: &str, config: &Value) -> Vec<ProviderDiag>;

    /// Checks the configuration of an ephemeral resource, which may hold unknown values.
    async fn validate_ephemeral(&self, kind: &str, config: &Value) -> Vec<ProviderDiag>;

    /// Opens an ephemeral resource, whose configuration is wholly known. It may not be put off.
    async fn open_ephemeral(&self, kind: &str, config: &Value) -> Answer<Opened>;

    /// Renews an open ephemeral resource.
    async fn renew_ephemeral(&self, kind: &str, private: &[u8]) -> Answer<Renewed>;

    /// Closes an open ephemeral resource.
    async fn close_ephemeral(&self, kind: &str, private: &[u8]) -> Vec<ProviderDiag>;

    /// Checks the configuration of an action, which may hold unknown values.
    async fn validate_action(&self, kind: &str, config: &Value) -> Vec<ProviderDiag>;

    /// Plans the invocation of an action, whose configuration may hold unknown values; tells whether it is put off.
    async fn plan_action(&self, kind: &str, config: &Value) -> Answer<Option<Deferred>>;

    /// Invokes an action with a configuration that is wholly known. `told` takes what it says on the way, at once.
    async fn invoke_action(&self, kind: &str, config: &Value, told: Told<'_>) -> Vec<ProviderDiag>;

    /// Brings a stored object up to the present schema; `None` if the provider gave nothing.
    async fn upgrade_state(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>>;

    /// Brings a stored identity up to the present identity schema; `None` if the provider gave nothing.
    async fn upgrade_identity(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>>;

    /// Reads the present state of an object.
    async fn read(&self, request: ReadRequest<'_>) -> Answer<Read>;

    /// Makes an object of another type, or of another provider, one of this provider's. It need not be configured.
    async fn move_state(&self, request: MoveRequest<'_>) -> Answer<MovedObject>;

    /// Finds an object that is there and not managed yet; others may come with it.
    async fn import(&self, request: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)>;

    /// The configuration that an object would have, from its state. Asked only of providers that say they can.
    async fn generate_config(&self, kind: &str, state: &Value) -> Answer<Option<Value>> {
        let _ = (kind, state);
        Answer::ok(None)
    }

    /// Checks what is to be listed, which may hold unknown values.
    async fn validate_list(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        let _ = config;
        vec![no_list(kind)]
    }

    /// Lists objects, in the provider's order. Those that came before an error are given with it.
    async fn list(&self, request: ListRequest<'_>) -> Answer<Vec<Listed>> {
        Answer {
            value: Vec::new(),
            diags: vec![no_list(request.kind)],
        }
    }

    /// Plans one instance.
    async fn plan(&self, request: PlanRequest<'_>) -> Answer<Planned>;

    /// Makes a planned change.
    async fn apply(&self, request: ApplyRequest<'_>) -> Answer<Applied>;

    /// Reads a data source; `None` if the provider gave nothing.
    async fn read_data(&self, request: ReadDataRequest<'_>) -> Answer<(Option<Value>, Option<Deferred>)>;

    /// Calls a function, as its signature in the schema allows. May be asked of a provider that is not configured.
    async fn call_function(&self, name: &str, args: &[Value]) -> Result<Value, FunctionFault>;

    /// Asks it to abandon what it is doing; returns when it was told, not when it obeyed.
    async fn stop(&self);

    /// Ends it. Later calls answer with errors.
    async fn close(&self);
}

/// As Terraform says it.
fn no_list(kind: &str) -> ProviderDiag {
    ProviderDiag {
        severity: Severity::Error,
        summary: format!("unknown list resource type {kind:?}"),
        detail: String::new(),
        path: None,
        fault: Some(CallFault::NotAsked),
    }
}

/// Where providers come from; versions are chosen already.
#[async_trait]
pub trait Providers: Send + Sync {
    /// What a provider offers, without configuring one. Kept by the implementation.
    async fn schema(&self, provider: &ashlar_addr::Provider) -> Result<Arc<ProviderSchema>, Diags>;

    /// A provider that was not configured yet, for one provider configuration.
    async fn start(&self, provider: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags>;

    /// A provider that is only asked what needs no configuration: checks and functions.
    async fn plain(&self, provider: &ashlar_addr::Provider) -> Result<Arc<dyn Provider>, Diags> {
        self.start(provider).await
    }

    /// One that took this very configuration in an earlier run and serves nobody now, with what it said of it then. Only where
    /// providers may outlive runs is there ever one.
    async fn configured(
        &self,
        provider: &ashlar_addr::Provider,
        config: &Value,
    ) -> Option<(Arc<dyn Provider>, Vec<ProviderDiag>)> {
        let _ = (provider, config);
        None
    }
}

/// What is asked of providers, and what they answer, may be secret: none of it is shown.
macro_rules! shown_by_name {
    ($($name:ident $(<$lifetime:lifetime>)?),* $(,)?) => {
        $(impl fmt::Debug for $name $(<$lifetime>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(concat!(stringify!($name), "(…)"))
            }
        })*
    };
}

shown_by_name!(
    UpgradeRequest<'_>,
    MoveRequest<'_>,
    MovedObject,
    ImportRequest<'_>,
    Imported<'_>,
    ImportedObject,
    ReadRequest<'_>,
    Read,
    PlanRequest<'_>,
    Planned,
    ApplyRequest<'_>,
    Applied,
    ReadDataRequest<'_>,
    ListRequest<'_>,
    Listed,
    Opened,
    Renewed,
);
