//! One request to the API server: bounded in time, and failing with words a person can use.
//!
//! The one place that sees an API error. What it tells are names, codes and the server's message, never an object.

use std::{fmt::Display, future::Future, time::Duration};

use ::kube::{Error, api::PostParams};
use ashlar_diag::{Diag, Diags};

/// Longer than the API server gives itself for a write.
const PATIENCE: Duration = Duration::from_secs(35);
/// Waits between attempts, while the server cannot be reached or is busy.
pub(super) const RETRY_AFTER: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_secs(1),
    Duration::from_secs(3),
    Duration::from_secs(6),
];

/// How objects are written: the server records who did.
pub(super) fn as_ashlar() -> PostParams {
    PostParams {
        field_manager: Some("ashlar".to_owned()),
        ..PostParams::default()
    }
}

/// What could not be done in the cluster.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("cannot {action} {what}")]
    Api {
        action: &'static str,
        what: String,
        source: Box<Error>,
    },
    #[error("gave up waiting to {action} {what}: the API server did not answer in time")]
    Silent { action: &'static str, what: String },
    #[error("cannot use {what}: {why}")]
    Damaged { what: String, why: String },
    #[error("may not write {what}: a later holder of the lock has taken it over")]
    Fenced { what: String },
    #[error("may not write {what}: someone changed it without the lock")]
    Changed { what: String },
    #[error("has lost the lock {what}")]
    LockLost { what: String },
    #[error("cannot be sure any more that it holds the lock {what}, since that could not be renewed in time")]
    LockUnsure { what: String },
}

impl Fault {
    pub(super) fn damaged(what: impl Display, why: impl Into<String>) -> Self {
        Self::Damaged {
            what: what.to_string(),
            why: why.into(),
        }
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Api { source, .. } => match &**source {
                Error::Api(status) => Some(status.code),
                _ => None,
            },
            _ => None,
        }
    }

    pub(super) fn is_not_found(&self) -> bool {
        self.code() == Some(404)
    }

    /// Someone else was faster: the object exists, or changed.
    pub(super) fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// May the same request work a little later? It may also have worked already.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Silent { .. } => true,
            Self::Api { source, .. } => match &**source {
                Error::Api(status) => status.code == 429 || status.code >= 500,
                Error::HyperError(_) | Error::Service(_) | Error::ReadEvents(_) => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// May it work after another look at what is there?
    pub(super) fn may_pass(&self) -> bool {
        self.is_conflict() || self.is_not_found() || self.is_passing()
    }

    /// As a diagnostic with this summary.
    pub(super) fn diags(&self, summary: &'static str) -> Diags {
        let reason = match self {
            Self::Api { source, .. } => match &**source {
                Error::Api(status) if status.code == 403 => {
                    format!(
                        ": {}. Grant the account that Ashlar runs as this right",
                        status.message
                    )
                }
                Error::Api(status) => format!(": {}", status.message.trim_end_matches('.')),
                // Serde quotes what it stumbles over, which may be a secret.
                Error::SerdeError(_) => ": the answer could not be read".to_owned(),
                other => {
                    let mut text = format!(": {other}");
                    let mut cause = std::error::Error::source(other);
                    while let Some(next) = cause {
                        let next_text = next.to_string();
                        if !text.contains(&next_text) {
                            text = format!("{text}: {next_text}");
                        }
                        cause = next.source();
                    }
                    text
                }
            },
            _ => String::new(),
        };
        Diag::error(summary, format!("Ashlar {self}{reason}.")).into()
    }
}

/// Waits for one request.
pub(super) async fn call<T>(
    action: &'static str,
    what: impl Display,
    request: impl Future<Output = Result<T, Error>>,
) -> Result<T, Fault> {
    match tokio::time::timeout(PATIENCE, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => Err(Fault::Api {
            action,
            what: what.to_string(),
            source: Box::new(error),
        }),
        Err(_) => Err(Fault::Silent {
            action,
            what: what.to_string(),
        }),
    }
}

/// Makes a request that may be repeated, again and again for a while.
pub(super) async fn persist<T, F: Future<Output = Result<T, Error>>>(
    action: &'static str,
    what: &str,
    mut request: impl FnMut() -> F,
) -> Result<T, Fault> {
    for pause in RETRY_AFTER {
        match call(action, what, request()).await {
            Err(fault) if fault.is_passing() => tokio::time::sleep(pause).await,
            answer => return answer,
        }
    }
    call(action, what, request()).await
}
