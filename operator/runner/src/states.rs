//! States of others, as a run may read them: files where its functions may read, Secrets by whoever runs it.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ashlar_funcs::{Caps, CapsError};
use ashlar_port::{StatePlace, States};
use ashlar_value::Value;
use async_trait::async_trait;

use crate::files::Files;

/// Reads files itself, and has a cluster's states read.
pub(crate) struct OtherStates {
    pub(crate) files: Files,
    /// Reads Secrets, if the run has anything to do with a cluster.
    pub(crate) cluster: Option<Arc<dyn States>>,
}

#[async_trait]
impl States for OtherStates {
    async fn outputs(
        &self,
        place: &StatePlace,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
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
    let state = ashlar_state::read(&bytes).map_err(|diags| {
        let why: Vec<String> = diags.iter().map(|diag| diag.detail.clone()).collect();
        format!("{path:?} is no state file that can be read. {}", why.join(" "))
    })?;
    let outputs = state.outputs.into_iter();
    Ok(Some(outputs.map(|(name, output)| (name, output.value)).collect()))
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

    #[tokio::test]
    async fn a_confined_run_reads_no_state_beside_its_files() {
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("bundle");
        std::fs::create_dir(&folder).unwrap();
        let state = br#"{"version":4,"serial":1,"lineage":"l","outputs":{"o":{"value":"v","type":"string"}},"resources":[]}"#;
        std::fs::write(around.path().join("outer"), state).unwrap();
        std::fs::write(folder.join("inner"), state).unwrap();
        let states = OtherStates {
            files: Files {
                folder: folder.clone(),
                confines: Some(folder),
                held: Vec::new(),
                home: None,
                plan_timestamp: String::new(),
                applying: false,
                made: Arc::default(),
                functions: None,
            },
            cluster: None,
        };
        let at = |path: &str| StatePlace::Local {
            path: Some(path.to_owned()),
            workspace_folder: None,
        };
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
        };
        assert!(states.outputs(&secret, "default").await.is_err());
    }
}
