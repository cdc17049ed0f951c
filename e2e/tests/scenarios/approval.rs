//! The approval gate as a user meets it: the plan stands in the status, only its whole digest lets it pass, and only once.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::json;

use crate::kiln;

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
    let digest = namespace.pending("demo", "")?;
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
    let fresh = namespace.pending("demo", &digest)?;
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
    namespace.pending("demo", &fresh)?;

    // Under Retain the object goes at once, and the state stays.
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "demo", "--wait=false"])?;
    namespace.wait_gone("demo")?;
    assert!(namespace.get("secret", "tfstate-default-demo")?.is_some());
    assert!(operator.stop()?.success());
    let leases = namespace.kubectl(&["get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity}"])?;
    assert_eq!(leases.trim(), "", "locks and presence are given back");
    Ok(())
}

#[test]
fn an_approval_is_spent_when_its_apply_begins() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "spent")?;
    let _operator = Operator::start(&namespace, &[])?;
    let module = r#"
resource "kiln_pot" "only" {
  name = "only"
}
"#;
    namespace.apply(&kiln::workspace(&namespace, module, json!({})))?;
    let first = namespace.pending(kiln::NAME, "")?;
    namespace.approve(kiln::NAME, &first)?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(namespace.world.pots()?, ["pot-only-1"]);

    // The very same change is wanted again, while the old approval still stands in the object.
    namespace.world.break_pot("pot-only-1")?;
    namespace.request(kiln::NAME, "again")?;
    let second = namespace.pending(kiln::NAME, &first)?;
    let workspace = namespace.workspace(kiln::NAME)?;
    assert_eq!(workspace["spec"]["approval"]["approvedPlan"], first.as_str());
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+1 ~0 -0");
    assert_eq!(condition(&workspace, "Ready").as_deref(), Some("False"));
    assert_eq!(namespace.world.count("start", "create", "only")?, 1);

    namespace.approve(kiln::NAME, &second)?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(namespace.world.pots()?, ["pot-only-2"]);
    Ok(())
}

#[test]
fn under_auto_nobody_is_asked() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "auto")?;
    let _operator = Operator::start(&namespace, &[])?;
    let module = r#"
variable "size" {
  type = number
}
resource "kiln_pot" "only" {
  name = "only"
  size = var.size
}
output "revision" {
  value = kiln_pot.only.revision
}
"#;
    let sized = |size: &str| {
        namespace.apply(&format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: sizes}}\ndata: {{size: \"{size}\"}}\n"
        ))
    };
    sized("1")?;
    let spec = json!({
        "approval": {"policy": "Auto"},
        "variablesFrom": [{"kind": "ConfigMap", "name": "sizes"}],
    });
    namespace.apply(&kiln::workspace(&namespace, module, spec))?;
    let workspace = namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(workspace["status"]["approval"]["state"], "NotRequired");

    // A changed input is planned and applied as soon as it is seen.
    sized("2")?;
    namespace.wait(kiln::NAME, "the pot is updated", |workspace| {
        (workspace["status"]["outputs"][0]["value"] == "2").then_some(())
    })?;
    assert_eq!(namespace.world.pot("pot-only-1")?["attributes"]["size"], 2);

    // An approval has no meaning there: the API server says so.
    let digest = format!("sha256:{}", "0".repeat(64));
    let refused = namespace.approve(kiln::NAME, &digest);
    assert!(refused.is_err_and(|error| error.to_string().contains("no meaning under policy Auto")));
    Ok(())
}
