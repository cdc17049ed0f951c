//! Bad input gets a clear error in the conditions; nothing is made, and mending it is enough to go on.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator, condition};
use serde_json::json;

fn workspace(name: &str, module: &str) -> String {
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {
            "source": {"inline": {"files": {"main.tf": module}}},
            "approval": {"policy": "Auto"},
            "retryInterval": "5s",
        },
    })
    .to_string()
}

#[test]
fn each_fault_is_told_where_it_is() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "bad")?;
    let _operator = Operator::start(&namespace, &[])?;
    let doubled: String = (1..40)
        .map(|n| format!("  t{n} = \"${{local.t{m}}}${{local.t{m}}}\"\n", m = n - 1))
        .collect();
    let doubled = format!("locals {{\n  t0 = \"text\"\n{doubled}}}\n");
    let cases = [
        ("syntax", "locals {\n  a = 1 +\n}\n", "main.tf line 2"),
        (
            "attribute",
            "resource \"terraform_data\" \"a\" {\n  inptu = 1\n}\n",
            "Unsupported argument",
        ),
        (
            "reference",
            "locals {\n  a = local.b\n}\n",
            "Reference to undeclared local value",
        ),
        ("cycle", "locals {\n  a = local.b\n  b = local.a\n}\n", "Cycle"),
        (
            "count",
            "resource \"terraform_data\" \"a\" {\n  count = -1\n}\n",
            "Invalid count argument",
        ),
        (
            "variable",
            "variable \"size\" {\n  type = number\n}\n",
            "No value for required variable",
        ),
        (
            "provider",
            "terraform {\n  required_providers {\n    x = { source = \"example.com/none/such\" }\n  }\n}\nresource \"x_y\" \"a\" {}\n",
            "example.com/none/such",
        ),
        (
            "module",
            "module \"m\" {\n  source = \"./m\"\n}\n",
            "Unreadable module directory",
        ),
        ("memory", &doubled, "Module uses too much memory"),
    ];
    for (name, module, _) in &cases {
        namespace.apply(&workspace(name, module))?;
    }
    for (name, _, part) in &cases {
        let workspace = namespace.wait_for(name, "Ready", "False")?;
        // A provider may be put into a mirror meanwhile; the others can only be mended in the workspace.
        let (stalled, retried) = if *name == "provider" {
            (None, Some("True"))
        } else {
            (Some("True"), None)
        };
        assert_eq!(condition(&workspace, "Stalled").as_deref(), stalled, "{name}");
        assert_eq!(condition(&workspace, "Reconciling").as_deref(), retried, "{name}");
        let message = workspace["status"]["lastFailure"]["message"]
            .as_str()
            .unwrap_or_default();
        assert!(message.contains(part), "{name}: {message}");
        assert!(
            namespace
                .get("secret", &format!("tfstate-default-{name}"))?
                .is_none(),
            "{name}"
        );
    }

    namespace.apply(&workspace("syntax", "output \"a\" {\n  value = 1\n}\n"))?;
    let workspace = namespace.wait_for("syntax", "Ready", "True")?;
    assert_eq!(condition(&workspace, "Stalled"), None);
    Ok(())
}

#[test]
fn a_damaged_or_locked_state_is_left_alone() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "state")?;
    let damaged = "apiVersion: v1\nkind: Secret\nmetadata: {name: tfstate-default-damaged}\nstringData: {tfstate: nonsense}\n";
    namespace.apply(damaged)?;
    let lock = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": "lock-tfstate-default-locked",
            "annotations": {"app.terraform.io/lock-info": json!({
                "ID": "0b0a", "Operation": "OperationTypeApply", "Info": "", "Who": "ada@laptop",
                "Version": "1.15.5", "Created": "2026-01-02T03:04:05Z", "Path": "",
            }).to_string()},
        },
        "spec": {"holderIdentity": "0b0a"},
    });
    namespace.apply(&lock.to_string())?;
    let _operator = Operator::start(&namespace, &[])?;
    let module = "resource \"terraform_data\" \"a\" {}\n";
    namespace.apply(&workspace("damaged", module))?;
    namespace.apply(&workspace("locked", module))?;

    let workspace = namespace.wait("locked", "the lock's holder is named", |workspace| {
        workspace["status"]
            .to_string()
            .contains("ada@laptop")
            .then(|| workspace.clone())
    })?;
    assert_eq!(
        condition(&workspace, "Ready").as_deref(),
        Some("False"),
        "{workspace:#}"
    );
    assert!(
        workspace["status"]["lock"]["acquiredAt"]
            .to_string()
            .contains("2026-01-02"),
        "{workspace:#}"
    );
    assert!(namespace.get("secret", "tfstate-default-locked")?.is_none());
    let workspace = namespace.wait("damaged", "the damage is told", |workspace| {
        workspace["status"]
            .to_string()
            .contains("tfstate-default-damaged")
            .then(|| workspace.clone())
    })?;
    assert_eq!(
        condition(&workspace, "Ready").as_deref(),
        Some("False"),
        "{workspace:#}"
    );
    let left = namespace.kubectl(&[
        "get",
        "secret",
        "tfstate-default-damaged",
        "-o",
        "jsonpath={.data.tfstate}",
    ])?;
    assert_eq!(left, "bm9uc2Vuc2U=");

    // The lock is given back: it is gone on with.
    namespace.kubectl(&["delete", "lease", "lock-tfstate-default-locked"])?;
    namespace.wait_for("locked", "Ready", "True")?;
    Ok(())
}

#[test]
fn two_workspaces_cannot_have_one_state() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "shared")?;
    let _operator = Operator::start(&namespace, &[])?;
    let sharing = |name: &str, input: &str| {
        let mut manifest: serde_json::Value = serde_json::from_str(&workspace(
            name,
            &format!("resource \"terraform_data\" \"{input}\" {{}}\n"),
        ))?;
        manifest["spec"]["state"] = json!({"secretSuffix": "one"});
        namespace.apply(&manifest.to_string())
    };
    sharing("first", "a")?;
    namespace.wait_for("first", "Ready", "True")?;
    sharing("second", "b")?;
    let workspace = namespace.wait_for("second", "Ready", "False")?;
    assert!(
        workspace["status"]
            .to_string()
            .contains("is that of Workspace first"),
        "{workspace:#}"
    );

    // Whatever the second one is to destroy when it goes, that is not among it.
    namespace.patch("second", &json!({"spec": {"deletionPolicy": "Destroy"}}))?;
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "second"])?;
    namespace.request("first", "look")?;
    namespace.wait("first", "nothing was taken from it", |workspace| {
        let status = &workspace["status"];
        let looked = status["lastHandledReconcileAt"] == "look" && status["plan"]["standing"] == "Empty";
        (looked && status["state"]["resourceCount"] == 1).then_some(())
    })?;

    // Once the first is gone, which keeps its state, another one takes the state over.
    sharing("third", "b")?;
    namespace.wait_for("third", "Ready", "False")?;
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "first"])?;
    let workspace = namespace.wait_for("third", "Ready", "True")?;
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+1 ~0 -1");
    Ok(())
}

#[test]
fn a_state_that_is_gone_is_not_taken_for_none() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "lost")?;
    let _operator = Operator::start(&namespace, &[])?;
    namespace.apply(&workspace("kept", "resource \"terraform_data\" \"a\" {}\n"))?;
    let made = namespace.wait_for("kept", "Ready", "True")?;
    let lineage = made["status"]["state"]["lineage"].clone();
    namespace.kubectl(&["delete", "secret", "tfstate-default-kept"])?;
    namespace.request("kept", "look")?;
    let workspace = namespace.wait_for("kept", "Ready", "False")?;
    assert!(
        workspace["status"]
            .to_string()
            .contains("tfstate-default-kept is gone"),
        "{workspace:#}"
    );
    assert!(namespace.get("secret", "tfstate-default-kept")?.is_none());

    // A person says that the objects are gone as well.
    namespace.patch(
        "kept",
        &json!({"metadata": {"annotations": {"ashlar.dev/state-lost": lineage}}}),
    )?;
    let workspace = namespace.wait_for("kept", "Ready", "True")?;
    assert_ne!(workspace["status"]["state"]["lineage"], lineage);
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+1 ~0 -0");
    Ok(())
}
