//! What the chart's ServiceAccount may do, and what it may not. All other scenarios run with just these rights.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace};
use serde_json::{Value, json};

#[test]
fn the_operator_has_the_rights_of_the_chart_and_no_others() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "rights")?;
    let account = format!("system:serviceaccount:{}:ashlar", namespace.name);
    // Not by `kubectl auth can-i`, which knows of installed kinds alone.
    let may = |verb: &str, what: &str, where_: &str| -> Result<bool> {
        let (what, part) = what.split_once(':').unwrap_or((what, ""));
        let (resource, group) = what.split_once('.').unwrap_or((what, ""));
        let question = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {
                "user": account,
                "groups": ["system:serviceaccounts", "system:authenticated"],
                "resourceAttributes": {
                    "verb": verb,
                    "group": group,
                    "resource": resource,
                    "subresource": part,
                    "namespace": where_,
                },
            },
        });
        let answer = bench.kubectl_with(&["create", "-f", "-", "-o", "json"], &question.to_string())?;
        let answer: Value = serde_json::from_str(&answer)?;
        Ok(answer["status"]["allowed"] == true)
    };
    let own = namespace.name.as_str();
    for (verb, what) in [
        ("list", "workspaces.ashlar.dev"),
        ("update", "workspaces.ashlar.dev:status"),
        ("get", "secrets"),
        ("get", "configmaps"),
        ("update", "leases.coordination.k8s.io"),
        ("create", "events.events.k8s.io"),
        ("watch", "gitrepositories.source.toolkit.fluxcd.io"),
        ("get", "externalartifacts.source.toolkit.fluxcd.io"),
    ] {
        assert!(may(verb, what, own)?, "it may not {verb} {what}");
        assert!(
            !may(verb, what, "kube-system")?,
            "it may {verb} {what} in another namespace"
        );
    }
    for (verb, what) in [
        ("delete", "workspaces.ashlar.dev"),
        ("create", "pods"),
        ("create", "pods:exec"),
        ("update", "configmaps"),
        ("create", "serviceaccounts:token"),
        ("create", "rolebindings.rbac.authorization.k8s.io"),
        ("impersonate", "users"),
        ("patch", "gitrepositories.source.toolkit.fluxcd.io"),
        ("get", "helmrepositories.source.toolkit.fluxcd.io"),
        ("get", "nodes"),
    ] {
        assert!(!may(verb, what, own)?, "it may {verb} {what}");
    }
    Ok(())
}
