//! A provider as one run has it, which goes back to the pool at the end if nothing went wrong with it.
//!
//! Every call is watched: one that fails or is broken off spoils the process, whatever it was asked for, and so does a request to
//! stop. An error may be the configuration's or the world's fault as well, but also that of a process whose credentials have run
//! out, and nobody can tell which; a new process costs little, one that fails every run much. What is spoiled, or still at work, is
//! ended and never used again.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering},
    },
    time::Instant,
};

use ashlar_diag::{Diags, Severity};
use ashlar_port::{
    Answer, Applied, ApplyRequest, Deferred, FunctionFault, ImportRequest, ImportedObject, ListRequest,
    Listed, MoveRequest, MovedObject, Opened, PlanRequest, Planned, Provider, ProviderDiag, Read,
    ReadDataRequest, ReadRequest, Renewed, Told, UpgradeRequest,
};
use ashlar_value::{
    Value,
    schema::{Attribute, AttributeType, Block, ProviderSchema},
};
use async_trait::async_trait;

use crate::{
    plugin::Plugin,
    warm::{Anchor, Idle, Key, Voice, WarmPool, digest_of},
    warm_rules::Ended,
    wire,
};

/// The digest of a configuration; nothing if it cannot be had again, or is not to be kept.
pub(crate) fn config_digest(schema: &ProviderSchema, config: &Value) -> Option<[u8; 32]> {
    if !config.is_wholly_known() || has_write_only(&schema.provider.block) {
        return None;
    }
    sent_digest(schema, config)
}

/// The digest of a configuration as it is sent, with what is not known in it.
pub(crate) fn sent_digest(schema: &ProviderSchema, config: &Value) -> Option<[u8; 32]> {
    let encoded = wire::encode(config, &schema.provider.block.ty()).ok()??;
    Some(digest_of([encoded.msgpack.as_slice(), encoded.json.as_slice()]))
}

fn has_write_only(block: &Block) -> bool {
    fn of(attribute: &Attribute) -> bool {
        attribute.write_only
            || match &attribute.ty {
                AttributeType::Plain(_) => false,
                AttributeType::Nested { attributes, .. } => attributes.values().any(of),
            }
    }
    block.attributes.values().any(of) || block.blocks.values().any(|nested| has_write_only(&nested.block))
}

/// A provider that a run has.
pub(crate) struct Lease {
    plugin: Arc<Plugin>,
    pool: Arc<WarmPool>,
    voice: Voice,
    anchor: Anchor,
    started: Instant,
    /// What it is from now on, and what it said of its configuration.
    kept_as: Mutex<(Key, Vec<ProviderDiag>)>,
    /// The first reason not to use it again.
    spoiled: Mutex<Option<Ended>>,
    at_work: AtomicUsize,
    /// Ephemeral resources that are open.
    open: AtomicI64,
    is_apart: AtomicBool,
    has_left: AtomicBool,
    /// The provider configuration that it stands for.
    role: OnceLock<Arc<str>>,
}

impl Lease {
    pub(crate) fn new(idle: Idle, pool: Arc<WarmPool>) -> Self {
        pool.counts.taken();
        Self {
            plugin: idle.plugin,
            pool,
            voice: idle.voice,
            anchor: idle.anchor,
            started: idle.started,
            kept_as: Mutex::new((idle.key, idle.remarks)),
            spoiled: Mutex::new(None),
            at_work: AtomicUsize::new(0),
            open: AtomicI64::new(0),
            is_apart: AtomicBool::new(false),
            has_left: AtomicBool::new(false),
            role: OnceLock::new(),
        }
    }

    fn kept_as(&self) -> MutexGuard<'_, (Key, Vec<ProviderDiag>)> {
        self.kept_as.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spoil(&self, why: Ended) {
        let mut spoiled = self.spoiled.lock().unwrap_or_else(PoisonError::into_inner);
        spoiled.get_or_insert(why);
    }

    fn is_spoiled(&self) -> Option<Ended> {
        *self.spoiled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn call(&self) -> Call<'_> {
        self.at_work.fetch_add(1, Ordering::SeqCst);
        Call {
            lease: self,
            is_over: false,
        }
    }

    /// What stood for the same configuration with other values is of no use any more.
    fn supersede(&self) {
        if let Some(role) = self.role.get() {
            self.pool.supersede(&self.kept_as().0, role);
        }
    }

    /// Why it is not to be kept, if there is a reason.
    fn fault(&self) -> Option<Ended> {
        let is_apart = self.is_apart.load(Ordering::SeqCst);
        if let Some(why) = self.is_spoiled() {
            Some(why)
        } else if self.plugin.has_ended() {
            Some(Ended::Crashed)
        } else if self.at_work.load(Ordering::SeqCst) != 0 {
            Some(Ended::Stopped)
        } else if is_apart || self.open.load(Ordering::SeqCst) != 0 {
            Some(Ended::Unkept)
        } else {
            None
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if !*self.has_left.get_mut() {
            // The run was dropped; the process ends with its last holder.
            self.pool.counts.left();
            self.pool.counts.ended(self.fault().unwrap_or(Ended::Stopped));
        }
    }
}

/// A call that is going on. One that is dropped before it is over has no answer.
struct Call<'a> {
    lease: &'a Lease,
    is_over: bool,
}

impl Call<'_> {
    /// `error`: what an error that the provider told of means.
    fn over<T: Judged>(mut self, answer: T, error: Ended) -> T {
        self.is_over = true;
        match answer.verdict() {
            Verdict::Fine => {}
            Verdict::Error => self.lease.spoil(error),
            Verdict::Fault => self.lease.spoil(Ended::Failed),
        }
        answer
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.lease.spoil(Ended::Failed);
        }
        self.lease.at_work.fetch_sub(1, Ordering::SeqCst);
    }
}

/// How a call went.
enum Verdict {
    Fine,
    /// The provider says that it failed.
    Error,
    /// There was no answer, or one that makes no sense.
    Fault,
}

impl Verdict {
    fn fault_if(is_fault: bool) -> Self {
        if is_fault { Self::Fault } else { Self::Fine }
    }
}

/// An answer that tells whether it is one.
trait Judged {
    fn verdict(&self) -> Verdict;
}

impl Judged for Vec<ProviderDiag> {
    fn verdict(&self) -> Verdict {
        if self.iter().any(|diag| diag.fault.is_some()) {
            Verdict::Fault
        } else if has_errors(self) {
            Verdict::Error
        } else {
            Verdict::Fine
        }
    }
}

impl<T> Judged for Answer<T> {
    fn verdict(&self) -> Verdict {
        self.diags.verdict()
    }
}

impl<T> Judged for Result<T, Diags> {
    fn verdict(&self) -> Verdict {
        Verdict::fault_if(self.is_err())
    }
}

impl Judged for Result<Value, FunctionFault> {
    /// Why a function gave nothing is told in one text, whoever wrote it: a fault that names no argument may be the call's. One
    /// that names an argument is a matter of that alone, as functions know nothing but their arguments.
    fn verdict(&self) -> Verdict {
        Verdict::fault_if(self.as_ref().is_err_and(|fault| fault.argument.is_none()))
    }
}

impl Judged for () {
    fn verdict(&self) -> Verdict {
        Verdict::Fine
    }
}

fn has_errors(diags: &[ProviderDiag]) -> bool {
    diags.iter().any(|diag| diag.severity == Severity::Error)
}

/// Each call as the plugin has it, between a beginning and an end that are noted.
macro_rules! watched {
    ($self:ident, $call:ident($($argument:expr),*)) => {
        watched!($self, $call($($argument),*), Ended::Failed)
    };
    ($self:ident, $call:ident($($argument:expr),*), $error:expr) => {{
        let call = $self.call();
        let answer = $self.plugin.$call($($argument),*).await;
        call.over(answer, $error)
    }};
}

#[async_trait]
impl Provider for Lease {
    async fn schema(&self) -> Result<Arc<ProviderSchema>, Diags> {
        watched!(self, schema())
    }

    fn keep_apart(&self) {
        self.is_apart.store(true, Ordering::SeqCst);
    }

    fn stands_for(&self, configuration: &str) {
        let _ = self.role.set(configuration.into());
        if self.kept_as().0.config.is_some() {
            self.supersede();
        }
    }

    async fn validate_provider(&self, config: &Value) -> Vec<ProviderDiag> {
        let told = watched!(self, validate_provider(config), Ended::Unkept);
        self.kept_as().1.clone_from(&told);
        told
    }

    async fn configure(&self, config: &Value) -> Vec<ProviderDiag> {
        let told = watched!(self, configure(config), Ended::Unkept);
        let schema = self.plugin.schema().await;
        let digest = schema.ok().and_then(|schema| config_digest(&schema, config));
        if digest.is_none() {
            self.spoil(Ended::Unkept);
        }
        {
            let mut kept_as = self.kept_as();
            kept_as.0.config = digest;
            kept_as.1.extend(told.iter().cloned());
        }
        self.supersede();
        told
    }

    async fn validate_resource(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        watched!(self, validate_resource(kind, config))
    }

    async fn validate_data(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        watched!(self, validate_data(kind, config))
    }

    async fn validate_ephemeral(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        watched!(self, validate_ephemeral(kind, config))
    }

    async fn open_ephemeral(&self, kind: &str, config: &Value) -> Answer<Opened> {
        let answer = watched!(self, open_ephemeral(kind, config));
        if !answer.has_errors() {
            self.open.fetch_add(1, Ordering::SeqCst);
        }
        answer
    }

    async fn renew_ephemeral(&self, kind: &str, private: &[u8]) -> Answer<Renewed> {
        watched!(self, renew_ephemeral(kind, private))
    }

    async fn close_ephemeral(&self, kind: &str, private: &[u8]) -> Vec<ProviderDiag> {
        let told = watched!(self, close_ephemeral(kind, private));
        if !has_errors(&told) {
            self.open.fetch_sub(1, Ordering::SeqCst);
        }
        told
    }

    async fn validate_action(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        watched!(self, validate_action(kind, config))
    }

    async fn plan_action(&self, kind: &str, config: &Value) -> Answer<Option<Deferred>> {
        watched!(self, plan_action(kind, config))
    }

    async fn invoke_action(&self, kind: &str, config: &Value, told: Told<'_>) -> Vec<ProviderDiag> {
        watched!(self, invoke_action(kind, config, told), Ended::ApplyError)
    }

    async fn upgrade_state(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        watched!(self, upgrade_state(request))
    }

    async fn upgrade_identity(&self, request: UpgradeRequest<'_>) -> Answer<Option<Value>> {
        watched!(self, upgrade_identity(request))
    }

    async fn read(&self, request: ReadRequest<'_>) -> Answer<Read> {
        watched!(self, read(request))
    }

    async fn move_state(&self, request: MoveRequest<'_>) -> Answer<MovedObject> {
        watched!(self, move_state(request))
    }

    async fn import(&self, request: ImportRequest<'_>) -> Answer<(Vec<ImportedObject>, Option<Deferred>)> {
        watched!(self, import(request))
    }

    async fn generate_config(&self, kind: &str, state: &Value) -> Answer<Option<Value>> {
        watched!(self, generate_config(kind, state))
    }

    async fn validate_list(&self, kind: &str, config: &Value) -> Vec<ProviderDiag> {
        watched!(self, validate_list(kind, config))
    }

    async fn list(&self, request: ListRequest<'_>) -> Answer<Vec<Listed>> {
        watched!(self, list(request))
    }

    async fn plan(&self, request: PlanRequest<'_>) -> Answer<Planned> {
        watched!(self, plan(request))
    }

    async fn apply(&self, request: ApplyRequest<'_>) -> Answer<Applied> {
        watched!(self, apply(request), Ended::ApplyError)
    }

    async fn read_data(&self, request: ReadDataRequest<'_>) -> Answer<(Option<Value>, Option<Deferred>)> {
        watched!(self, read_data(request))
    }

    async fn call_function(&self, name: &str, args: &[Value]) -> Result<Value, FunctionFault> {
        watched!(self, call_function(name, args))
    }

    async fn stop(&self) {
        self.spoil(Ended::Stopped);
        watched!(self, stop())
    }

    /// Gives it back, or ends it where it is not to be used again. Whoever had it asks nothing of it any more.
    async fn close(&self) {
        if self.has_left.swap(true, Ordering::SeqCst) {
            return;
        }
        self.pool.counts.left();
        match self.fault() {
            Some(why) => {
                self.pool.counts.ended(why);
                self.plugin.close().await;
            }
            None => {
                let (key, remarks) = self.kept_as().clone();
                self.pool.put(Idle {
                    plugin: self.plugin.clone(),
                    voice: self.voice.clone(),
                    key,
                    remarks,
                    started: self.started,
                    anchor: self.anchor.clone(),
                    role: self.role.get().cloned(),
                });
            }
        }
    }
}
