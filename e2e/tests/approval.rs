//! The approval gate as a user meets it: the plan stands in the status, only its whole digest lets it pass, and only once.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::json;

const WORKSPACE: &str = r#"
apiVersion: ashlar.dev/v1alpha1
kind: Workspace
metadata: {name: demo}
spec:
  source:
    inline:
      files:
        main.tf: |
          variable "words" {
            type = list(string)
          }
          variable "password" {
            type = string
          }
          resource "terraform_data" "words" {
            input = join(" ", var.words)
          }
          resource "terraform_data" "hidden" {
            input = var.password
          }
          output "words" {
            value = terraform_data.words.output
          }
          output "hidden" {
            value     = terraform_data.hidden.output
            sensitive = true
          }
  variables:
    - {name: words, value: [one, two]}
    - {name: password, valueFrom: {secretKeyRef: {name: login, key: password}}}
  outputs: {secretRef: {name: demo-outputs}}
"#;

fn secret(password: &str) -> String {
    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: login}}\nstringData: {{password: {password}}}\n")
}

/// The digest of the plan that waits, other than `old`.
fn pending(namespace: &Namespace, old: &str) -> Result<String> {
    namespace.wait("demo", "a new plan waits", |workspace| {
        let digest = workspace["status"]["plan"]["digest"].as_str()?;
        let waits = condition(workspace, "AwaitingApproval").as_deref() == Some("True");
        (waits && digest != old).then(|| digest.to_owned())
    })
}

#[test]
fn only_the_whole_digest_of_the_plan_lets_it_pass() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "approval")?;
    let operator = Operator::start(&namespace, &[])?;
    namespace.apply(WORKSPACE)?;

    // The Secret is missing, and named; it is gone on with as soon as it appears.
    let workspace = namespace.wait("demo", "the missing Secret is named", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("InputMissing")).then(|| workspace.clone())
    })?;
    assert!(
        workspace["status"].to_string().contains("Secret login"),
        "{workspace:#}"
    );
    namespace.apply(&secret("hunter22"))?;
    let digest = pending(&namespace, "")?;
    let workspace = namespace.workspace("demo")?;
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+2 ~0 -0");
    let addresses: Vec<&str> = workspace["status"]["plan"]["changes"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|change| change["address"].as_str())
        .collect();
    assert_eq!(addresses, ["terraform_data.hidden", "terraform_data.words"]);
    assert_eq!(workspace["status"]["approval"]["state"], "Pending");

    // Another digest is refused; one that is no whole digest does not even reach the object.
    let wrong = format!("sha256:{}", "0".repeat(64));
    namespace.approve("demo", &wrong)?;
    namespace.wait("demo", "the wrong digest is refused", |workspace| {
        (workspace["status"]["approval"] == json!({"state": "Refused", "refused": wrong})).then_some(())
    })?;
    assert_eq!(
        condition(&namespace.workspace("demo")?, "AwaitingApproval").as_deref(),
        Some("True")
    );
    assert!(namespace.approve("demo", &digest[..20]).is_err());

    // A changed value voids the plan, whatever was approved.
    namespace.apply(&secret("hunter23"))?;
    let fresh = pending(&namespace, &digest)?;
    namespace.approve("demo", &digest)?;
    namespace.wait("demo", "the old digest is refused", |workspace| {
        (workspace["status"]["approval"]["refused"] == digest.as_str()).then_some(())
    })?;

    namespace.approve("demo", &fresh)?;
    let workspace = namespace.wait_for("demo", "Ready", "True")?;
    let status = &workspace["status"];
    assert_eq!(status["lastAppliedPlan"], fresh.as_str());
    assert_eq!(status["state"]["resourceCount"], 2);
    let outputs = json!([
        {"name": "hidden", "type": "string", "sensitive": true},
        {"name": "words", "type": "string", "value": "\"one two\""},
    ]);
    assert_eq!(status["outputs"], outputs);
    assert!(!workspace.to_string().contains("hunter2"), "{workspace:#}");
    let decoded = namespace.kubectl(&[
        "get",
        "secret",
        "demo-outputs",
        "-o",
        "go-template={{.data.hidden | base64decode}}",
    ])?;
    assert_eq!(decoded, "hunter23");
    assert!(namespace.get("secret", "tfstate-default-demo")?.is_some());
    let events = namespace.kubectl(&["get", "events", "-o", "json"])?;
    assert!(
        events.contains("\"Applied\"") && !events.contains("hunter2"),
        "{events}"
    );

    // The approval is spent: the next change needs one of its own.
    namespace.apply(&secret("hunter24"))?;
    pending(&namespace, &fresh)?;

    // Under Retain the object goes at once, and the state stays.
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "demo", "--wait=false"])?;
    namespace.wait_gone("demo")?;
    assert!(namespace.get("secret", "tfstate-default-demo")?.is_some());
    assert!(operator.stop()?.success());
    let leases = namespace.kubectl(&["get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity}"])?;
    assert_eq!(leases.trim(), "", "locks and presence are given back");
    Ok(())
}
