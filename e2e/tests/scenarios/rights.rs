//! What the chart's ServiceAccount may do, and what it may not. All other scenarios run with just these rights.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace};

#[test]
fn the_operator_has_the_rights_of_the_chart_and_no_others() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "rights")?;
    let account = format!("system:serviceaccount:{}:ashlar", namespace.name);
    let may = |verb: &str, what: &str, where_: &str| {
        let (what, part) = what.split_once(':').unwrap_or((what, ""));
        let part = format!("--subresource={part}");
        let question = [
            "auth",
            "can-i",
            verb,
            what,
            &part,
            "--as",
            &account,
            "--namespace",
            where_,
        ];
        // kubectl answers "no" with a failure.
        bench.kubectl(&question).is_ok()
    };
    let own = namespace.name.as_str();
    for (verb, what) in [
        ("list", "workspaces.ashlar.dev"),
        ("update", "workspaces.ashlar.dev:status"),
        ("get", "secrets"),
        ("get", "configmaps"),
        ("update", "leases.coordination.k8s.io"),
        ("create", "events.events.k8s.io"),
    ] {
        assert!(may(verb, what, own), "it may not {verb} {what}");
        assert!(
            !may(verb, what, "kube-system"),
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
        ("get", "nodes"),
    ] {
        assert!(!may(verb, what, own), "it may {verb} {what}");
    }
    Ok(())
}
