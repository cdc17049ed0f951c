//! A namespace of its own for each test, with the ways to write to it, to look, and to wait.

use std::{
    path::Path,
    thread::sleep,
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, bail};
use ashlar_xtask::{process, release::Release};
use serde_json::Value;

use crate::{Bench, World};

/// How long a scenario waits for one thing, on a slow and busy machine.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(300);

/// A namespace, removed when it is dropped.
pub struct Namespace {
    /// Where it is.
    pub bench: Bench,
    /// Its name.
    pub name: String,
    /// What the test provider manages.
    pub world: World,
}

impl Namespace {
    /// Makes one whose name begins so, with the chart installed in it.
    pub fn new(bench: &Bench, prefix: &str) -> Result<Self> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let name = format!("{prefix}-{}-{}", std::process::id(), since.subsec_nanos());
        bench.kubectl(&["create", "namespace", &name])?;
        let namespace = Self {
            bench: bench.clone(),
            name,
            world: World::new()?,
        };
        let list = |name: &str, path: &Path| format!("{name}={{{}}}", path.display());
        // It looks after its own namespace only: the scenarios run side by side.
        let values = [
            "crds.install=false".to_owned(),
            format!("watchNamespaces={{{}}}", namespace.name),
            "log.filter=info\\,ashlar_controller=debug".to_owned(),
            // Sources of the tests are served on loopback.
            "sources.permittedNetworks={127.0.0.0/8,::1/128}".to_owned(),
            list("providerMirrors", &bench.mirror),
            list("writableFolders", namespace.world.path()),
        ];
        process::output(&mut namespace.release().install(&values))
            .context("the chart cannot be installed")?;
        Ok(namespace)
    }

    pub(crate) fn release(&self) -> Release {
        Release {
            helm: self.bench.helm.clone(),
            kubeconfig: self.bench.kubeconfig.clone(),
            namespace: self.name.clone(),
        }
    }

    /// Runs kubectl in it.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let mut all = vec!["--namespace", &self.name];
        all.extend(arguments);
        self.bench.kubectl(&all)
    }

    /// Applies a manifest.
    pub fn apply(&self, manifest: &str) -> Result<()> {
        self.bench
            .kubectl_with(&["--namespace", &self.name, "apply", "-f", "-"], manifest)
            .map(drop)
    }

    /// One object; `None` if there is none.
    pub fn get(&self, kind: &str, name: &str) -> Result<Option<Value>> {
        let text = self.kubectl(&["get", kind, name, "--ignore-not-found", "-o", "json"])?;
        if text.trim().is_empty() {
            Ok(None)
        } else {
            Ok(Some(serde_json::from_str(&text)?))
        }
    }

    /// One Workspace, which must be there.
    pub fn workspace(&self, name: &str) -> Result<Value> {
        self.get("workspaces.ashlar.dev", name)?
            .with_context(|| format!("there is no Workspace {name}"))
    }

    /// Changes a Workspace by a merge patch.
    pub fn patch(&self, name: &str, patch: &Value) -> Result<()> {
        self.kubectl(&[
            "patch",
            "workspaces.ashlar.dev",
            name,
            "--type",
            "merge",
            "-p",
            &patch.to_string(),
        ])
        .map(drop)
    }

    /// Approves the plan with this digest.
    pub fn approve(&self, name: &str, digest: &str) -> Result<()> {
        self.patch(
            name,
            &serde_json::json!({ "spec": { "approval": { "approvedPlan": digest } } }),
        )
    }

    /// Waits until a Workspace is as `wanted` finds it, and gives what that gives. The error shows how it was last.
    pub fn wait<T>(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> Option<T>) -> Result<T> {
        let end = Instant::now() + PATIENCE;
        loop {
            let workspace = self.workspace(name)?;
            if let Some(found) = wanted(&workspace) {
                return Ok(found);
            }
            if Instant::now() > end {
                bail!(
                    "waited in vain until {what}; the status is {:#}",
                    workspace["status"]
                );
            }
            sleep(PAUSE);
        }
    }

    /// The digest of the plan that waits for approval, once there is one other than `old`.
    pub fn pending(&self, name: &str, old: &str) -> Result<String> {
        self.wait(name, "a new plan waits", |workspace| {
            let digest = workspace["status"]["plan"]["digest"].as_str()?;
            let waits = condition(workspace, "AwaitingApproval").as_deref() == Some("True");
            (waits && digest != old).then(|| digest.to_owned())
        })
    }

    /// Asks for a plan at once.
    pub fn request(&self, name: &str, token: &str) -> Result<()> {
        self.patch(
            name,
            &serde_json::json!({ "metadata": { "annotations": { "ashlar.dev/requestedAt": token } } }),
        )
    }

    /// Waits until its condition has this status.
    pub fn wait_for(&self, name: &str, kind: &str, status: &str) -> Result<Value> {
        self.wait(name, &format!("{kind} is {status}"), |workspace| {
            (condition(workspace, kind).as_deref() == Some(status)).then(|| workspace.clone())
        })
    }

    /// Waits until a Workspace is gone.
    pub fn wait_gone(&self, name: &str) -> Result<()> {
        let end = Instant::now() + PATIENCE;
        while let Some(workspace) = self.get("workspaces.ashlar.dev", name)? {
            if Instant::now() > end {
                bail!(
                    "waited in vain until {name} is gone; the status is {:#}",
                    workspace["status"]
                );
            }
            sleep(PAUSE);
        }
        Ok(())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The control plane goes as a whole afterwards: what cannot be removed now does no harm.
        let _ = self
            .bench
            .kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
    }
}

fn find<'a>(workspace: &'a Value, kind: &str) -> Option<&'a Value> {
    workspace["status"]["conditions"]
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == kind)
}

/// The status of a condition of the object's present generation.
pub fn condition(workspace: &Value, kind: &str) -> Option<String> {
    let found = find(workspace, kind)?;
    let current = found["observedGeneration"] == workspace["metadata"]["generation"];
    current
        .then(|| found["status"].as_str().map(str::to_owned))
        .flatten()
}

/// The reason of a condition.
pub fn reason(workspace: &Value, kind: &str) -> Option<String> {
    find(workspace, kind)?["reason"].as_str().map(str::to_owned)
}
