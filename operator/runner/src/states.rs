//! States of others, as a run may read them: files where its functions may read, Secrets by whoever runs it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ashlar_funcs::{Caps, CapsError};
use ashlar_port::{StatePlace, States};
use ashlar_provider::Listener;
use ashlar_value::{Mark, Value};
use async_trait::async_trait;
use tokio::sync::Mutex;

use crate::files::Files;

/// Largest state file that a confined run reads, in bytes.
const LARGEST: usize = 8 << 20;

type Outputs = Option<BTreeMap<Arc<str>, Value>>;

/// Reads files itself, and has a cluster's states read.
pub(crate) struct OtherStates {
    files: Files,
    /// Reads Secrets, if the run has anything to do with a cluster.
    cluster: Option<Arc<dyn States>>,
    /// Hears what is sensitive of them.
    secrets: Listener,
    /// What a confined run has read.
    known: Mutex<BTreeMap<String, Outputs>>,
}

impl OtherStates {
    pub(crate) fn new(files: Files, cluster: Option<Arc<dyn States>>, secrets: Listener) -> Self {
        Self {
            files,
            cluster,
            secrets,
            known: Mutex::default(),
        }
    }

    async fn read(&self, place: &StatePlace, workspace: &str) -> Result<Outputs, String> {
        match place {
            StatePlace::Local {
                path,
                workspace_folder,
            } => {
                let path = local_path(path.as_deref(), workspace_folder.as_deref(), workspace)?;
                let files = self.files.clone();
                tokio::task::spawn_blocking(move || read(&files, &path))
                    .await
                    .unwrap_or_else(|_| Err("Reading was broken off.".to_owned()))
            }
            StatePlace::Kubernetes { .. } => match &self.cluster {
                Some(cluster) => cluster.outputs(place, workspace).await,
                None => Err("This run has no cluster to read a state from.".to_owned()),
            },
        }
    }
}

#[async_trait]
impl States for OtherStates {
    /// On a person's own machine nothing is sensitive that was not made so here, as with Terraform. In a cluster a workspace's
    /// status is seen by more people than the Secret with the state is, so what is sensitive there is so here.
    async fn outputs(&self, place: &StatePlace, workspace: &str) -> Result<Outputs, String> {
        if self.files.confines.is_none() {
            let plain = |(name, value): (Arc<str>, Value)| (name, value.unmark_deep().0);
            let found = self.read(place, workspace).await?;
            return Ok(found.map(|outputs| outputs.into_iter().map(plain).collect()));
        }
        let mut known = self.known.lock().await;
        let key = format!("{place:?} {workspace}");
        if let Some(outputs) = known.get(&key) {
            return Ok(outputs.clone());
        }
        let outputs = self.read(place, workspace).await?;
        let values = outputs.iter().flat_map(BTreeMap::values);
        let bytes = values.clone().map(Value::weight).fold(0, u64::saturating_add);
        if !self.files.grant(usize::try_from(bytes).unwrap_or(usize::MAX)) {
            return Err("Its outputs take more memory than this run may still use.".to_owned());
        }
        for value in values.filter(|value| is_secret(value)) {
            (self.secrets)(&Value::null(value.ty()), value);
        }
        known.insert(key, outputs.clone());
        Ok(outputs)
    }
}

fn is_secret(value: &Value) -> bool {
    value.marks_deep().contains(Mark::Sensitive)
}

/// Source: Terraform `internal/backend/local/backend.go` (`StatePaths`).
fn local_path(path: Option<&str>, folder: Option<&str>, workspace: &str) -> Result<String, String> {
    const FILE: &str = "terraform.tfstate";
    if workspace.is_empty() || workspace == "default" {
        return Ok(path.unwrap_or(FILE).to_owned());
    }
    if workspace.contains('/') || matches!(workspace, "." | "..") {
        return Err(format!("No workspace can be called {workspace:?}."));
    }
    let path: PathBuf = [folder.unwrap_or("terraform.tfstate.d"), workspace, FILE]
        .iter()
        .collect();
    path.into_os_string()
        .into_string()
        .map_err(|_| "The path is no text.".to_owned())
}

fn read(files: &Files, path: &str) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
    let bytes = match files.read_file(path) {
        Ok(bytes) => bytes,
        Err(CapsError::Absent) => return Ok(None),
        Err(fault @ (CapsError::Failed(_) | CapsError::Refused(_))) => {
            return Err(format!("The state file {path:?} cannot be read: {fault}."));
        }
    };
    if files.confines.is_some() && (bytes.len() > LARGEST || !files.grant(bytes.len())) {
        return Err(format!(
            "The state file {path:?} has more than {LARGEST} bytes, or more than this run may still read. Hand the values over as \
             variables instead."
        ));
    }
    let state = ashlar_state::read(&bytes).map_err(|diags| {
        let why: Vec<String> = diags.iter().map(|diag| diag.detail.clone()).collect();
        format!("{path:?} is no state file that can be read. {}", why.join(" "))
    })?;
    Ok(Some(state.marked_outputs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_file() {
        let check = |path: Option<&str>, folder: Option<&str>, workspace: &str, want: Option<&str>| {
            assert_eq!(local_path(path, folder, workspace).ok().as_deref(), want);
        };
        check(None, None, "default", Some("terraform.tfstate"));
        check(Some("a/b"), Some("c"), "default", Some("a/b"));
        check(
            Some("a/b"),
            None,
            "blue",
            Some("terraform.tfstate.d/blue/terraform.tfstate"),
        );
        check(None, Some("c"), "blue", Some("c/blue/terraform.tfstate"));
        check(None, None, "../x", None);
        check(None, None, "..", None);
    }

    fn files(folder: &std::path::Path, confined: bool) -> Files {
        Files {
            folder: folder.to_owned(),
            confines: confined.then(|| folder.to_owned()),
            held: Vec::new(),
            home: None,
            plan_timestamp: String::new(),
            applying: false,
            made: Arc::default(),
            functions: None,
        }
    }

    fn at(path: &str) -> StatePlace {
        StatePlace::Local {
            path: Some(path.to_owned()),
            workspace_folder: None,
        }
    }

    #[tokio::test]
    async fn what_is_sensitive_there_is_so_in_a_cluster_and_told_to_who_redacts() {
        let folder = tempfile::tempdir().unwrap();
        let state =
            br#"{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":"open","type":"string"},
            "s":{"value":"secret","type":"string","sensitive":true}},"resources":[]}"#;
        std::fs::write(folder.path().join("state"), state).unwrap();
        let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
        let states = |confined: bool| {
            let heard = heard.clone();
            let listener: Listener =
                Arc::new(move |_, value| heard.lock().unwrap().push(value.clone().unmark_deep().0));
            OtherStates::new(files(folder.path(), confined), None, listener)
        };
        let local = states(false);
        let found = local.outputs(&at("state"), "default").await.unwrap().unwrap();
        assert!(!is_secret(&found["s"]) && heard.lock().unwrap().is_empty());
        let confined = states(true);
        let found = confined.outputs(&at("state"), "default").await.unwrap().unwrap();
        assert!(is_secret(&found["s"]) && !is_secret(&found["o"]));
        assert!(*heard.lock().unwrap() == [Value::string("secret")]);
        // It is read once in a run.
        std::fs::remove_file(folder.path().join("state")).unwrap();
        assert!(confined.outputs(&at("state"), "default").await.unwrap().is_some());
        assert!(local.outputs(&at("state"), "default").await.unwrap().is_none());
    }

    #[tokio::test]
    async fn no_state_takes_more_memory_than_there_is() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("large"), vec![b' '; LARGEST + 1]).unwrap();
        let small = br#"{"version":4,"serial":1,"lineage":"l","outputs":{},"resources":[]}"#;
        std::fs::write(folder.path().join("small"), small).unwrap();
        let files = files(folder.path(), true);
        let states = OtherStates::new(files.clone(), None, Arc::new(|_, _| {}));
        let why = states.outputs(&at("large"), "default").await.unwrap_err();
        assert!(why.contains("more than"), "{why}");
        // All else of the run counts, too.
        while files.grant(100 << 20) {}
        assert!(states.outputs(&at("small"), "default").await.is_err());
    }

    #[tokio::test]
    async fn a_confined_run_reads_no_state_beside_its_files() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("bundle");
        std::fs::create_dir(&folder).unwrap();
        let state = br#"{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":"v","type":"string"}},"resources":[]}"#;
        std::fs::write(around.path().join("outer"), state).unwrap();
        std::fs::write(folder.join("inner"), state).unwrap();
        let states = OtherStates::new(files(&folder, true), None, Arc::new(|_, _| {}));
        let found = states.outputs(&at("inner"), "default").await.unwrap().unwrap();
        assert!(found["o"] == Value::string("v"));
        assert!(states.outputs(&at("none"), "default").await.unwrap().is_none());
        for outside in ["../outer", "/etc/hosts"] {
            let why = states.outputs(&at(outside), "default").await.unwrap_err();
            assert!(why.contains("leads out of"), "{why}");
        }
        let secret = StatePlace::Kubernetes {
            namespace: None,
            suffix: "s".to_owned(),
            access: ashlar_port::ClusterAccess::default(),
        };
        assert!(states.outputs(&secret, "default").await.is_err());
    }
}
