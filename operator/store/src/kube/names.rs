//! What the objects of one state are called, and how they are labelled.
//!
//! Source: Terraform `internal/backend/remote-state/kubernetes`; `ashlar-…` names and `ashlar.dev/…` keys are ours. The
//! four `tfstate` labels stand on nothing but the state and its lock: Terraform takes any Secret with them for a part.

use std::collections::BTreeMap;

use ashlar_diag::{Diag, Diags};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use super::state::MAX_STATE;

/// The fencing number of whoever wrote an object last.
pub(super) const FENCE: &str = "ashlar.dev/fence";
/// The number of the last journal record that the state contains, and the digest of that state: whoever else writes the
/// state leaves this as it was.
pub(super) const COVERED: &str = "ashlar.dev/journal-covered";
/// The digest of the last plan whose apply began.
pub(super) const BEGUN: &str = "ashlar.dev/begun-plan";
/// The workspace of that apply.
pub(super) const OWNER: &str = "ashlar.dev/workspace";
/// For people: the changes whose outcome nobody knew when the workspace let the state go.
pub(super) const UNCERTAIN: &str = "ashlar.dev/uncertain-changes";
/// Which replica holds a lock under which ID.
pub(super) const LOCKED_BY: &str = "ashlar.dev/lock";
/// On chunks: what they are chunks of.
pub(super) const GROUP: &str = "ashlar.dev/chunks-of";
/// Terraform's own note of who holds the lock.
pub(super) const LOCK_INFO: &str = "app.terraform.io/lock-info";

/// Where one state is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    namespace: String,
    workspace: String,
    suffix: String,
    labels: BTreeMap<String, String>,
    largest: u64,
}

impl Slot {
    /// The state of Terraform's backend `kubernetes` with these settings. `labels` are set beside Terraform's own, and
    /// are part of how Terraform finds the state.
    pub fn new(
        namespace: &str,
        workspace: &str,
        suffix: &str,
        labels: BTreeMap<String, String>,
    ) -> Result<Self, Diags> {
        let slot = Self {
            namespace: namespace.into(),
            workspace: workspace.into(),
            suffix: suffix.into(),
            labels,
            largest: MAX_STATE,
        };
        let invalid = |why: &str| {
            Diags::from(Diag::error(
                "Invalid name for a state",
                format!(
                    "The state of workspace {workspace:?} with suffix {suffix:?} cannot be kept in a Secret: {why}."
                ),
            ))
        };
        if !is_subdomain(&slot.secret()) {
            return Err(invalid(
                "names in Kubernetes consist of lower case letters, digits, dashes and dots",
            ));
        }
        if workspace.len() > 63 || suffix.len() > 63 {
            return Err(invalid(
                "each of them is also a label, so at most 63 characters long",
            ));
        }
        if slot
            .secret()
            .rsplit('-')
            .next()
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return Err(invalid(
                "a name that ends in a number is taken for a part of another state by Terraform",
            ));
        }
        Ok(slot)
    }

    /// The namespace of all its objects.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The Secret with the state.
    pub fn secret(&self) -> String {
        format!("tfstate-{}-{}", self.workspace, self.suffix)
    }

    /// The Lease that locks it.
    pub fn lease(&self) -> String {
        format!("lock-{}", self.secret())
    }

    /// The Secret with the journal.
    pub fn journal(&self) -> String {
        format!("ashlar-journal-{}-{}", self.workspace, self.suffix)
    }

    /// The number of a Secret that holds a further part of what Terraform wrote.
    pub(super) fn part(&self, name: &str) -> Option<u32> {
        let number = name.strip_prefix(&self.secret())?.strip_prefix("-part-")?;
        number
            .parse()
            .ok()
            .filter(|parsed: &u32| *parsed > 0 && parsed.to_string() == number)
    }

    /// What its chunks begin with. A hash, since the name may be as long as names can be.
    pub(super) fn chunks(&self, of: &str) -> String {
        format!(
            "ashlar-chunk-{}",
            short_hash(&[of, &self.workspace, &self.suffix])
        )
    }

    /// The labels Terraform sets.
    pub(super) fn labels(&self) -> BTreeMap<String, String> {
        let own = [
            ("tfstate", "true"),
            ("tfstateSecretSuffix", &self.suffix),
            ("tfstateWorkspace", &self.workspace),
            ("app.kubernetes.io/managed-by", "terraform"),
        ];
        let own = own
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()));
        own.chain(self.labels.clone()).collect()
    }

    /// The labels as a selector.
    pub(super) fn selector(&self) -> String {
        let pairs: Vec<String> = self
            .labels()
            .into_iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        pairs.join(",")
    }

    /// Of it no state that unpacks to more bytes than these is read.
    #[must_use]
    pub fn no_larger(mut self, bytes: u64) -> Self {
        self.largest = bytes.min(MAX_STATE);
        self
    }

    pub(super) fn largest(&self) -> u64 {
        self.largest
    }

    /// The command that writes out the state.
    pub(super) fn pulled_by(&self) -> String {
        format!(
            "ashlar state pull --namespace {} --workspace {} --suffix {}",
            self.namespace, self.workspace, self.suffix
        )
    }

    /// For messages: `Secret namespace/name`.
    pub(super) fn tell(&self, kind: &str, name: &str) -> String {
        format!("{kind} {}/{name}", self.namespace)
    }
}

/// An object of ours with this name.
pub(super) fn ours(name: &str, owner: Option<&OwnerReference>) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        labels: Some(BTreeMap::from([(
            "app.kubernetes.io/managed-by".to_owned(),
            "ashlar".to_owned(),
        )])),
        owner_references: owner.map(|owner| vec![owner.clone()]),
        ..ObjectMeta::default()
    }
}

/// Names whose parts may be too long for a name: 24 hex digits that stand for them.
pub(super) fn short_hash(parts: &[&str]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hex::encode(&hash.finalize()[..12])
}

fn is_subdomain(name: &str) -> bool {
    // The Lease and the journal are longer by a prefix.
    name.len() <= 253 - "ashlar-journal-".len()
        && name.split('.').all(|part| {
            !part.is_empty()
                && !part.starts_with('-')
                && !part.ends_with('-')
                && part
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(workspace: &str, suffix: &str) -> Result<Slot, Diags> {
        Slot::new(
            "ns",
            workspace,
            suffix,
            BTreeMap::from([("team".to_owned(), "demo".to_owned())]),
        )
    }

    #[test]
    fn names_and_labels_are_those_of_terraform() {
        let slot = slot("default", "sample").unwrap();
        assert_eq!(slot.secret(), "tfstate-default-sample");
        assert_eq!(slot.lease(), "lock-tfstate-default-sample");
        assert_eq!(
            slot.selector(),
            "app.kubernetes.io/managed-by=terraform,team=demo,tfstate=true,tfstateSecretSuffix=sample,\
             tfstateWorkspace=default"
        );
    }

    #[test]
    fn only_parts_of_this_state_count() {
        let slot = slot("default", "a").unwrap();
        let found = |name: &str| slot.part(name);
        assert_eq!(found("tfstate-default-a-part-12"), Some(12));
        for other in [
            "tfstate-default-a",
            "tfstate-default-a-part-0",
            "tfstate-default-a-part-01",
            "tfstate-default-a-b-part-1",
        ] {
            assert_eq!(found(other), None, "{other}");
        }
    }

    #[test]
    fn what_terraform_could_not_find_again_is_refused() {
        for (workspace, suffix) in [
            ("a", "b-1"),
            ("a", "7"),
            ("A", "b"),
            ("a", "b_c"),
            ("a", ""),
            ("a", "b."),
        ] {
            assert!(slot(workspace, suffix).is_err(), "{workspace} {suffix}");
        }
        assert!(slot(&"a".repeat(64), "b").is_err());
        assert!(slot("a", "b-1x").is_ok());
    }
}
