//! Which providers a workspace reaches as sidecars: those that the operator's owner offers to its namespace, or those of them that its
//! spec names. Pure.
//!
//! A workspace names providers and never where one listens: it reaches nothing that is not offered to it.

use std::{
    collections::{BTreeMap, BTreeSet},
    str::FromStr,
};

use ashlar_addr::Provider;
use ashlar_api::WorkspaceSpec;
use ashlar_provider::Sidecar;

use crate::decide::InputFault;

/// The providers that a workspace names as sidecars; none if it leaves that to what is offered.
pub(crate) fn named(spec: &WorkspaceSpec) -> Result<Option<BTreeSet<Provider>>, InputFault> {
    let names = spec.providers.as_ref().and_then(|own| own.sidecars.as_ref());
    let read = |name: &String| {
        Provider::from_str(name).map_err(|_| {
            InputFault::Invalid(format!(
                "spec.providers.sidecars names {name:?}, which is not a provider's address, as hashicorp/random or \
                 registry.example.com/acme/cloud would be."
            ))
        })
    };
    names.map(|names| names.iter().map(read).collect()).transpose()
}

/// The sidecars that a workspace of this namespace uses.
pub(crate) fn beside(
    offered: &BTreeMap<Provider, Sidecar>,
    namespace: &str,
    spec: &WorkspaceSpec,
) -> Result<BTreeMap<Provider, Sidecar>, InputFault> {
    let mut own: BTreeMap<Provider, Sidecar> = offered
        .iter()
        .filter(|(_, sidecar)| sidecar.serves(namespace))
        .map(|(provider, sidecar)| (provider.clone(), sidecar.clone()))
        .collect();
    let Some(named) = named(spec)? else {
        return Ok(own);
    };
    if let Some(provider) = named.iter().find(|provider| !own.contains_key(*provider)) {
        let there: Vec<String> = own.keys().map(ToString::to_string).collect();
        let there = if there.is_empty() {
            "none are offered".to_owned()
        } else {
            format!("offered are {}", there.join(", "))
        };
        return Err(InputFault::Invalid(format!(
            "spec.providers.sidecars names {provider}, which is not offered to this namespace as a sidecar ({there}). Take it out of the \
             list, and the operator starts the provider itself; or have whoever runs the operator offer it (sidecars in the chart's values)."
        )));
    }
    own.retain(|provider, _| named.contains(provider));
    Ok(own)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn check(sidecars: Json, namespace: &str, expected: Result<&[&str], &str>) {
        let entry = |namespaces: &[&str]| json!({"network": "unix", "address": "/x", "protocol": 6, "version": "1.0.0", "namespaces": namespaces});
        let offered = json!({
            "hashicorp/random": entry(&[]),
            "forge.test/studio/kiln": entry(&["a"]),
            "hashicorp/aws": entry(&["b"]),
        });
        let offered = Sidecar::offered(&offered.to_string()).unwrap();
        let mut spec = json!({"source": {"inline": {"files": {"main.tf": ""}}}});
        if sidecars != Json::Null {
            spec["providers"] = json!({"sidecars": sidecars});
        }
        let got = beside(&offered, namespace, &serde_json::from_value(spec).unwrap());
        let got = got.map(|own| {
            own.into_keys()
                .map(|provider| provider.to_string())
                .collect::<Vec<_>>()
        });
        let got = got.as_deref().map_err(InputFault::message);
        match expected {
            Ok(expected) => assert_eq!(got.unwrap(), expected),
            Err(expected) => {
                assert!(got.unwrap_err().starts_with(expected), "{got:?}");
            }
        }
    }

    #[test]
    fn a_workspace_uses_what_is_offered_or_what_it_names_of_that() {
        const RANDOM: &str = "registry.terraform.io/hashicorp/random";
        const KILN: &str = "forge.test/studio/kiln";
        check(Json::Null, "a", Ok(&[KILN, RANDOM]));
        check(Json::Null, "c", Ok(&[RANDOM]));
        check(json!([]), "a", Ok(&[]));
        check(json!(["hashicorp/random"]), "a", Ok(&[RANDOM]));
        check(
            json!([KILN, RANDOM, "hashicorp/random"]),
            "a",
            Ok(&[KILN, RANDOM]),
        );
    }

    #[test]
    fn what_is_not_offered_is_told_without_what_others_have() {
        check(
            json!(["hashicorp/aws"]),
            "a",
            Err(
                "spec.providers.sidecars names registry.terraform.io/hashicorp/aws, which is not offered to this namespace as a \
                 sidecar (offered are forge.test/studio/kiln, registry.terraform.io/hashicorp/random).",
            ),
        );
        check(
            json!(["studio/kiln"]),
            "b",
            Err("spec.providers.sidecars names registry.terraform.io/studio/kiln, which is not offered"),
        );
        check(
            json!(["unix:/run/x.sock"]),
            "a",
            Err("spec.providers.sidecars names \"unix:/run/x.sock\", which is not a provider's address"),
        );
    }
}
