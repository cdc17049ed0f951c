//! Who holds a lock, as Terraform tells it, so that its users and ours can read each other's locks.
//!
//! Source: Terraform `internal/states/statemgr/locker.go`.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version that Ashlar presents itself as.
pub(crate) const TERRAFORM_VERSION: &str = "1.15.5";

/// Written beside a lock while it is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct LockInfo {
    /// Identifies this holding of the lock.
    #[serde(rename = "ID")]
    pub id: String,
    /// What is being done: `OperationTypeApply`.
    pub operation: String,
    /// Anything more to say.
    pub info: String,
    /// `user@host`.
    pub who: String,
    /// The version of Terraform.
    pub version: String,
    /// Since when, RFC 3339.
    pub created: String,
    /// The state file, if it is one.
    pub path: String,
}

impl LockInfo {
    /// A new lock, taken now.
    pub fn new(operation: &str, who: &str, info: &str) -> Self {
        Self {
            id: uuid::Uuid::new_v4().to_string(),
            operation: operation.to_owned(),
            info: info.to_owned(),
            who: who.to_owned(),
            version: TERRAFORM_VERSION.to_owned(),
            created: jiff::Timestamp::now().to_string(),
            path: String::new(),
        }
    }

    /// A new lock for a command line on this host.
    pub fn here(operation: &str) -> Self {
        Self::new(operation, &who(), "")
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// `user@host`, as far as it can be told.
fn who() -> String {
    let user = std::env::var("USER")
        .or_else(|_| std::env::var("LOGNAME"))
        .unwrap_or_default();
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{user}@{host}")
}

impl fmt::Display for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} since {}, for {} (lock ID {}",
            self.who, self.created, self.operation, self.id
        )?;
        if !self.info.is_empty() {
            write!(f, ", {}", self.info)?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_reads_as_terraform_writes_it() {
        let text = r#"{"ID":"i","Operation":"OperationTypeApply","Info":"","Who":"root@host","Version":"1.15.5","Created":"2026-11-29T20:33:13.667010925Z","Path":""}"#;
        let lock = LockInfo::from_json(text).unwrap();
        assert_eq!(lock.to_json(), text);
        assert_eq!(
            lock.to_string(),
            "root@host since 2026-11-29T20:33:13.667010925Z, for OperationTypeApply (lock ID i)"
        );
    }
}
