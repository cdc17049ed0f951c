//! A provider fails in the middle of an apply: what was made is kept and told, and the next run goes on from there.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::json;

use crate::kiln;

const MODULE: &str = r#"
resource "kiln_pot" "base" {
  name = "base"
}
resource "kiln_pot" "brittle" {
  name  = "brittle"
  glaze = kiln_pot.base.id
}
resource "kiln_pot" "after" {
  name  = "after"
  glaze = kiln_pot.brittle.id
}
resource "kiln_pot" "apart" {
  name = "apart"
}
"#;

#[test]
fn what_was_made_before_a_failure_is_kept_and_the_next_run_heals() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "failure")?;
    let _operator = Operator::start(&namespace, &[])?;
    let world = &namespace.world;
    world.faults(&json!([{
        "op": "create", "type": "kiln_pot", "key": "brittle",
        "summary": "The kiln is cold", "detail": "Heat it first.",
    }]))?;
    let spec = json!({"approval": {"policy": "Auto"}, "retryInterval": "20s"});
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec))?;
    let workspace = namespace.wait_for(kiln::NAME, "Applied", "False")?;
    let status = &workspace["status"];
    assert_eq!(condition(&workspace, "Ready").as_deref(), Some("False"));
    assert_eq!(condition(&workspace, "Stalled"), None);
    assert_eq!(status["lastFailure"]["reason"], "ApplyFailed");
    let message = status["lastFailure"]["message"].as_str().unwrap_or_default();
    for part in ["The kiln is cold", "main.tf", "kiln_pot.brittle"] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
    assert_eq!(status["state"]["resourceCount"], 2);
    assert_eq!(world.pots()?, ["pot-apart-1", "pot-base-1"]);

    // Nobody touches the object: the operator tries again by itself.
    world.faults(&json!([]))?;
    let workspace = namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+2 ~0 -0");
    assert_eq!(workspace["status"]["state"]["resourceCount"], 4);
    assert_eq!(
        world.pots()?,
        ["pot-after-1", "pot-apart-1", "pot-base-1", "pot-brittle-1"]
    );
    Ok(())
}

#[test]
fn a_provider_that_dies_in_a_call_leaves_an_uncertain_change() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "died")?;
    let _operator = Operator::start(&namespace, &[])?;
    let world = &namespace.world;
    world.faults(&json!([{"op": "create", "type": "kiln_pot", "key": "brittle", "crash": true}]))?;
    let spec = json!({"approval": {"policy": "Auto"}});
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec))?;
    let workspace = namespace.wait(kiln::NAME, "the change is told to be uncertain", |workspace| {
        let told = workspace["status"]["run"]["uncertain"][0]["address"] == "kiln_pot.brittle";
        (told && condition(workspace, "Reconciling").is_none()).then(|| workspace.clone())
    })?;
    assert_eq!(workspace["status"]["run"]["uncertain"][0]["action"], "create");
    world.faults(&json!([]))?;
    // A person has looked: there is no such pot.
    namespace.patch(
        kiln::NAME,
        &json!({"metadata": {"annotations": {"ashlar.dev/settled": "kiln_pot.brittle"}}}),
    )?;
    let workspace = namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(workspace["status"]["run"], serde_json::Value::Null);
    assert_eq!(world.count("finish", "create", "brittle")?, 1);
    Ok(())
}

#[test]
fn a_provider_that_never_ends_is_killed_and_what_others_did_is_kept() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "hangs")?;
    let _operator = Operator::start(&namespace, &["--provider-grace", "2"])?;
    let module = r#"
terraform {
  required_providers {
    snoop = { source = "forge.test/studio/snoop" }
  }
}
resource "snoop_hang" "ever" {
  name        = "ever"
  ignore_stop = true
}
resource "terraform_data" "apart" {}
resource "terraform_data" "after" {
  input = snoop_hang.ever.id
}
"#;
    let manifest = json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": "hangs"},
        "spec": {
            "source": {"inline": {"files": {"main.tf": module}}},
            "approval": {"policy": "Auto"},
            "timeout": "10s",
            "retryInterval": "2s",
        },
    });
    namespace.apply(&manifest.to_string())?;
    let workspace = namespace.wait(
        "hangs",
        "the hanging change is told to be uncertain",
        |workspace| {
            (reason(workspace, "Ready").as_deref() == Some("UncertainChanges")).then(|| workspace.clone())
        },
    )?;
    let uncertain = json!([{"address": "snoop_hang.ever", "action": "create"}]);
    assert_eq!(workspace["status"]["run"]["uncertain"], uncertain);
    assert_eq!(workspace["status"]["state"]["resourceCount"], 1);
    // It goes with what is uncertain noted, and does not wait for anyone.
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "hangs", "--timeout=60s"])?;
    Ok(())
}
