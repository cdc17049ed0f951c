//! Runs provisioners: programs here, commands and files on machines that are reached over SSH.
//!
//! What a workspace of a cluster runs is a tenant's: programs only where the operator's owner allows them, and then within
//! the fence of providers; connections only to where sources may be fetched from; files only from the bundle. All that is
//! told of them goes through the run's redactor. Nothing here decides when a provisioner runs or what its failure means.

mod argument;
mod connection;
mod local_exec;
mod machine;
mod output;
mod remote;
mod scp;
mod session;

use std::{path::PathBuf, sync::Arc};

use ashlar_diag::Severity;
use ashlar_funcs::Caps;
use ashlar_port::{ProviderDiag, ProvisionRequest, Provisioners};
use ashlar_provider::LaunchOptions;
use ashlar_sources::Reach;
use async_trait::async_trait;
use tokio::sync::watch;

use argument::text;

/// May programs be run on this machine?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalPrograms {
    /// Any.
    Allowed,
    /// Any, but only within a fence that the kernel does build.
    Fenced,
    /// None. The words say what would allow them.
    Refused(&'static str),
}

/// What provisioners may do.
#[derive(Clone, Debug)]
pub struct Rules {
    /// On this machine.
    pub programs: LocalPrograms,
    /// To which networks they may connect.
    pub reach: Reach,
    /// The socket of the SSH agent that may be asked, if there is one.
    pub agent: Option<PathBuf>,
}

/// The provisioners of one run.
pub struct Runner {
    rules: Rules,
    launch: LaunchOptions,
    folder: PathBuf,
    caps: Arc<dyn Caps>,
    stopped: watch::Sender<bool>,
}

impl Runner {
    /// Programs run as `launch` says, in `folder` if nothing else is said; files are read through `caps`.
    pub fn new(rules: Rules, launch: LaunchOptions, folder: PathBuf, caps: Arc<dyn Caps>) -> Self {
        Self {
            rules,
            launch,
            folder,
            caps,
            stopped: watch::Sender::new(false),
        }
    }

    /// Ends once the run is told to stop.
    async fn stop_asked(&self) {
        let mut stopped = self.stopped.subscribe();
        // The sender lives as long as this does.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    }

    /// What is dropped on the way ends its connection.
    async fn until_stopped(
        &self,
        work: impl Future<Output = Result<(), String>> + Send,
    ) -> Result<(), String> {
        tokio::select! {
            result = work => result,
            () = self.stop_asked() => Err("It was ended because the run was asked to stop.".to_owned()),
        }
    }

    /// A fault; what must not be shown is taken out.
    fn fault(&self, summary: &str, detail: &str) -> ProviderDiag {
        ProviderDiag {
            severity: Severity::Error,
            summary: summary.to_owned(),
            detail: (self.launch.redact)(detail),
            path: None,
            fault: None,
        }
    }
}

#[async_trait]
impl Provisioners for Runner {
    async fn provision(&self, request: ProvisionRequest<'_>) -> Vec<ProviderDiag> {
        let summary = format!("{} provisioner error", request.kind);
        if *self.stopped.borrow() {
            let detail = "The run was asked to stop before this was begun.";
            return vec![self.fault(&summary, detail)];
        }
        if request.kind == "local-exec" && text(request.config, "command").is_none_or(|text| text.is_empty())
        {
            let detail = "The command must not be empty.";
            return vec![self.fault("Invalid local-exec provisioner command", detail)];
        }
        let result = match request.kind {
            "local-exec" => self.local_exec(&request).await,
            "remote-exec" => self.until_stopped(self.remote_exec(&request)).await,
            "file" => self.until_stopped(self.file(&request)).await,
            kind => Err(format!("There is no provisioner {kind:?}.")),
        };
        let failed = result.err().map(|detail| match (request.is_secret, request.kind) {
            // A program's fault tells of its own what may be told.
            (true, kind) if kind != "local-exec" => {
                "It failed. What failed is not shown, because its arguments hold a value that is not shown.".to_owned()
            }
            _ => detail,
        });
        failed
            .map(|detail| self.fault(&summary, &detail))
            .into_iter()
            .collect()
    }

    async fn stop(&self) {
        self.stopped.send_replace(true);
    }
}
