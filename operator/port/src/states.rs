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
    },
}

/// Reads states of others.
#[async_trait]
pub trait States: Send + Sync {
    /// The root outputs of a state; `None` if there is none. An error says in a sentence why it cannot be read, and names no
    /// content.
    async fn outputs(
        &self,
        place: &StatePlace,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String>;
}
