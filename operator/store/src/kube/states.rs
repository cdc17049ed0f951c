//! Outputs of states in Secrets, for `terraform_remote_state`.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use ::kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use ashlar_diag::Diags;
use ashlar_port::{ClusterAccess, StatePlace, States};
use ashlar_value::Value;
use async_trait::async_trait;

use super::{Slot, pull};

/// Reads them by the rights of a client.
pub enum SecretStates {
    /// Of the cluster that the configuration, Terraform's own variables (`KUBE_CONFIG_PATH`, `KUBE_CTX`, …) or else KUBECONFIG
    /// names, by the rights of the person who has it: in any namespace.
    OfPerson,
    /// Of one namespace alone: that of a workspace, whose author may name any Secret in it and none elsewhere.
    OfNamespace(Client, String),
}

/// Largest state of another workspace that is read for one, in bytes: runs of all share the operator's memory.
const LARGEST: u64 = 8 << 20;

/// Terraform's own default.
const DEFAULT_NAMESPACE: &str = "default";

impl SecretStates {
    /// The namespace that is meant, if it may be read.
    fn namespace(&self, named: Option<&str>) -> Result<String, String> {
        match (self, named) {
            (Self::OfPerson, Some(named)) => Ok(named.to_owned()),
            (Self::OfPerson, None) => {
                Ok(variable("KUBE_NAMESPACE").unwrap_or_else(|| DEFAULT_NAMESPACE.to_owned()))
            }
            (Self::OfNamespace(_, own), None) => Ok(own.clone()),
            (Self::OfNamespace(_, own), Some(named)) if own == named => Ok(own.clone()),
            (Self::OfNamespace(_, own), Some(named)) => Err(format!(
                "A workspace reads only states of its own namespace, {own:?}, and this one is in {named:?}. Have the other workspace \
                 publish its outputs, and hand them over as variables."
            )),
        }
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The files that tell of clusters, in the order that Terraform's backend has.
fn config_paths(access: &ClusterAccess, variable: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let one = access
        .config_path
        .clone()
        .or_else(|| variable("KUBE_CONFIG_PATH"));
    let named = match (one, &*access.config_paths) {
        (Some(one), _) => vec![PathBuf::from(one)],
        (None, []) => variable("KUBE_CONFIG_PATHS")
            .map(|paths| std::env::split_paths(&paths).collect())
            .unwrap_or_default(),
        (None, paths) => paths.iter().map(PathBuf::from).collect(),
    };
    let home = std::env::home_dir();
    let expanded = named
        .into_iter()
        .map(|path| match (path.strip_prefix("~"), &home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path,
        });
    expanded.collect()
}

/// Source: Terraform `internal/backend/remote-state/kubernetes/backend.go`.
async fn reach(access: &ClusterAccess) -> Result<Client, String> {
    let told = |error: &dyn std::error::Error| error.to_string();
    let by_variable =
        || variable("KUBE_IN_CLUSTER_CONFIG").is_some_and(|value| matches!(&*value, "1" | "true"));
    if access.in_cluster.unwrap_or_else(by_variable) {
        let config = Config::incluster().map_err(|error| told(&error))?;
        return Client::try_from(config).map_err(|error| told(&error));
    }
    let context = access.context.clone().or_else(|| variable("KUBE_CTX"));
    let paths = config_paths(access, variable);
    if paths.is_empty() && context.is_none() {
        return Client::try_default().await.map_err(|error| told(&error));
    }
    let read = || {
        if paths.is_empty() {
            return Kubeconfig::read();
        }
        let files = paths.iter().map(Kubeconfig::read_from);
        files
            .reduce(|one, next| one?.merge(next?))
            .unwrap_or_else(Kubeconfig::read)
    };
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let config = Config::from_custom_kubeconfig(read().map_err(|error| told(&error))?, &options);
    Client::try_from(config.await.map_err(|error| told(&error))?).map_err(|error| told(&error))
}

#[async_trait]
impl States for SecretStates {
    async fn outputs(
        &self,
        place: &StatePlace,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
        let StatePlace::Kubernetes {
            namespace,
            suffix,
            access,
        } = place
        else {
            return Err("This is no state in a cluster.".to_owned());
        };
        let namespace = self.namespace(namespace.as_deref())?;
        let client = match self {
            Self::OfPerson => reach(access)
                .await
                .map_err(|why| format!("The cluster cannot be reached: {why}."))?,
            Self::OfNamespace(client, _) if *access == ClusterAccess::default() => client.clone(),
            Self::OfNamespace(..) => {
                let why = "In a cluster a state is read where the workspace is, so config_path, config_paths, config_context and \
                           in_cluster_config cannot be given.";
                return Err(why.to_owned());
            }
        };
        let told = |diags: Diags| {
            diags
                .iter()
                .map(|diag| diag.detail.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut slot = Slot::new(&namespace, workspace, suffix, BTreeMap::new()).map_err(told)?;
        if matches!(self, Self::OfNamespace(..)) {
            slot = slot.no_larger(LARGEST);
        }
        let pulled = pull(&client, &slot).await.map_err(told)?;
        if pulled.bytes.is_none() {
            return Ok(None);
        }
        Ok(Some(pulled.recovered.state.marked_outputs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_workspace_reads_its_own_namespace_alone() {
        assert_eq!(
            SecretStates::OfPerson.namespace(Some("any")).as_deref(),
            Ok("any")
        );
        let config = ::kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let own = SecretStates::OfNamespace(Client::try_from(config).unwrap(), "own".to_owned());
        assert_eq!(own.namespace(None).as_deref(), Ok("own"));
        assert_eq!(own.namespace(Some("own")).as_deref(), Ok("own"));
        let elsewhere = StatePlace::Kubernetes {
            namespace: None,
            suffix: "s".to_owned(),
            access: ClusterAccess {
                config_path: Some("/etc/kubernetes/admin.conf".to_owned()),
                ..ClusterAccess::default()
            },
        };
        let why = own.outputs(&elsewhere, "default").await.unwrap_err();
        assert!(why.contains("cannot be given"), "{why}");
        let foreign = StatePlace::Kubernetes {
            namespace: Some("other".to_owned()),
            suffix: "s".to_owned(),
            access: ClusterAccess::default(),
        };
        // Refused before anybody is asked.
        let why = own.outputs(&foreign, "default").await.unwrap_err();
        assert!(why.contains("own namespace"), "{why}");
    }

    #[test]
    fn files_that_tell_of_clusters_are_taken_in_terraforms_order() {
        let check = |path: Option<&str>, paths: &[&str], variables: &[(&str, &str)], want: &[&str]| {
            let access = ClusterAccess {
                config_path: path.map(str::to_owned),
                config_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
                ..ClusterAccess::default()
            };
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(
                config_paths(&access, variable),
                want.iter().map(PathBuf::from).collect::<Vec<_>>()
            );
        };
        let both = [("KUBE_CONFIG_PATH", "/e"), ("KUBE_CONFIG_PATHS", "/f:/g")];
        check(None, &[], &[], &[]);
        check(Some("/a"), &["/b"], &both, &["/a"]);
        check(None, &["/b"], &both, &["/e"]);
        check(None, &["/b", "/c"], &both[1..], &["/b", "/c"]);
        check(None, &[], &both[1..], &["/f", "/g"]);
    }
}
