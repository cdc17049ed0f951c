//! Outputs of states in Secrets, for `terraform_remote_state`.

use std::{collections::BTreeMap, sync::Arc};

use ::kube::Client;
use ashlar_diag::Diags;
use ashlar_port::{StatePlace, States};
use ashlar_value::Value;
use async_trait::async_trait;

use super::{Slot, pull};

/// Reads them by the rights of a client.
pub enum SecretStates {
    /// Of the cluster that KUBECONFIG names, by the rights of the person who has it: in any namespace.
    OfPerson,
    /// Of one namespace alone: that of a workspace, whose author may name any Secret in it and none elsewhere.
    OfNamespace(Client, String),
}

/// Terraform's own default.
const DEFAULT_NAMESPACE: &str = "default";

impl SecretStates {
    /// The namespace that is meant, if it may be read.
    fn namespace(&self, named: Option<&str>) -> Result<String, String> {
        match (self, named) {
            (Self::OfPerson, named) => Ok(named.unwrap_or(DEFAULT_NAMESPACE).to_owned()),
            (Self::OfNamespace(_, own), None) => Ok(own.clone()),
            (Self::OfNamespace(_, own), Some(named)) if own == named => Ok(own.clone()),
            (Self::OfNamespace(_, own), Some(named)) => Err(format!(
                "A workspace reads only states of its own namespace, {own:?}, and this one is in {named:?}. Have the other workspace \
                 publish its outputs, and hand them over as variables."
            )),
        }
    }
}

#[async_trait]
impl States for SecretStates {
    async fn outputs(
        &self,
        place: &StatePlace,
        workspace: &str,
    ) -> Result<Option<BTreeMap<Arc<str>, Value>>, String> {
        let StatePlace::Kubernetes { namespace, suffix } = place else {
            return Err("This is no state in a cluster.".to_owned());
        };
        let namespace = self.namespace(namespace.as_deref())?;
        let client = match self {
            Self::OfPerson => Client::try_default()
                .await
                .map_err(|error| format!("The cluster cannot be reached: {error}."))?,
            Self::OfNamespace(client, _) => client.clone(),
        };
        let told = |diags: Diags| {
            diags
                .iter()
                .map(|diag| diag.detail.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let slot = Slot::new(&namespace, workspace, suffix, BTreeMap::new()).map_err(told)?;
        let pulled = pull(&client, &slot).await.map_err(told)?;
        if pulled.bytes.is_none() {
            return Ok(None);
        }
        let outputs = pulled.recovered.state.outputs.into_iter();
        Ok(Some(outputs.map(|(name, output)| (name, output.value)).collect()))
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
        assert_eq!(SecretStates::OfPerson.namespace(None).as_deref(), Ok("default"));
        let config = ::kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let own = SecretStates::OfNamespace(Client::try_from(config).unwrap(), "own".to_owned());
        assert_eq!(own.namespace(None).as_deref(), Ok("own"));
        assert_eq!(own.namespace(Some("own")).as_deref(), Ok("own"));
        let foreign = StatePlace::Kubernetes {
            namespace: Some("other".to_owned()),
            suffix: "s".to_owned(),
        };
        // Refused before anybody is asked.
        let why = own.outputs(&foreign, "default").await.unwrap_err();
        assert!(why.contains("own namespace"), "{why}");
    }
}
