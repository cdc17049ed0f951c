//! Outputs of other states, for `terraform_remote_state`.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_value::Value;
use async_trait::async_trait;

/// Where another state is kept, as the configuration says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatePlace {
    /// Backend `local`.
    Local {
        /// The state file of the workspace `default`.
        path: Option<String>,
        /// The folder with a folder for each other workspace.
        workspace_folder: Option<String>,
    },
    /// Backend `kubernetes`: a Secret.
    Kubernetes {
        /// Its namespace.
        namespace: Option<String>,
        /// The last part of its name.
        suffix: String,
        /// How its cluster is reached.
        access: ClusterAccess,
    },
}

/// How a cluster is reached, as far as the configuration says it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterAccess {
    /// A file that tells of clusters and users.
    pub config_path: Option<String>,
    /// Several of them, if there is not the one.
    pub config_paths: Vec<String>,
    /// Which of the contexts in them.
    pub context: Option<String>,
    /// By the account of the Pod that this runs in?
    pub in_cluster: Option<bool>,
}

/// Reads states of others.
#[async_trait]
pub trait States: Send + Sync {
    /// The root outputs of a state, those that are sensitive there marked so; `None` if there is none. An error says in a
    /// sentence why it cannot be read, and names no content.
    async fn outputs(
        &self,
        place: &StatePlace,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String>;
}
