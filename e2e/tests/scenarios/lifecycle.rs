//! Objects are updated, replaced and destroyed; a workspace that goes takes its objects along through the same gate.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::{Value, json};

use crate::kiln;

const MODULE: &str = r#"
variable "size" {
  type = number
}
variable "clay" {
  type = string
}
variable "lids" {
  type    = set(string)
  default = []
}
resource "kiln_pot" "base" {
  name = "base"
  size = var.size
  clay = var.clay
}
resource "kiln_pot" "lid" {
  for_each = var.lids
  name     = each.key
  glaze    = kiln_pot.base.id
}
"#;

fn with(namespace: &Namespace, size: i64, clay: &str, lids: &[&str], spec: &Value) -> String {
    let mut spec = spec.clone();
    spec["variables"] = json!([
        {"name": "size", "value": size},
        {"name": "clay", "value": clay},
        {"name": "lids", "value": lids},
    ]);
    kiln::workspace(namespace, MODULE, spec)
}

/// Applies the manifest and waits until its plan, which must be like this in short, was applied.
fn settle(namespace: &Namespace, manifest: &str, changes: &str) -> Result<Value> {
    namespace.apply(manifest)?;
    let generation = namespace.workspace(kiln::NAME)?["metadata"]["generation"].clone();
    let workspace = namespace.wait(kiln::NAME, &format!("{changes} is applied"), |workspace| {
        let done = workspace["status"]["observedGeneration"] == generation
            && workspace["status"]["plan"]["standing"] == "Applied"
            && condition(workspace, "Ready").as_deref() == Some("True");
        done.then(|| workspace.clone())
    })?;
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], changes);
    Ok(workspace)
}

#[test]
fn objects_are_updated_replaced_and_destroyed_with_their_workspace() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "lifecycle")?;
    let _operator = Operator::start(&namespace, &[])?;
    let world = &namespace.world;
    let spec = json!({"approval": {"policy": "Auto"}, "deletionPolicy": "Destroy"});

    settle(
        &namespace,
        &with(&namespace, 1, "red", &["a", "b"], &spec),
        "+3 ~0 -0",
    )?;
    assert_eq!(world.pots()?, ["pot-a-1", "pot-b-1", "pot-base-1"]);
    settle(
        &namespace,
        &with(&namespace, 2, "red", &["a", "b"], &spec),
        "+0 ~1 -0",
    )?;
    assert_eq!(world.pot("pot-base-1")?["attributes"]["size"], 2);

    // A replaced pot gets another id, which its lids show; one lid is not wanted any more.
    let workspace = settle(
        &namespace,
        &with(&namespace, 2, "white", &["a"], &spec),
        "+1 ~1 -2",
    )?;
    assert_eq!(workspace["status"]["plan"]["summary"]["replaces"], 1);
    assert_eq!(world.pots()?, ["pot-a-1", "pot-base-2"]);
    assert_eq!(world.pot("pot-a-1")?["attributes"]["glaze"], "pot-base-2");

    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    namespace.wait_gone(kiln::NAME)?;
    assert_eq!(world.pots()?, Vec::<String>::new());
    // Nothing is left behind, in the cluster either.
    for (kind, name) in [
        ("secret", "tfstate-default-pots"),
        ("lease", "lock-tfstate-default-pots"),
    ] {
        assert!(namespace.get(kind, name)?.is_none(), "{kind} {name}");
    }
    Ok(())
}

#[test]
fn what_is_gone_already_leaves_the_state_and_nobody_is_asked() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "gone")?;
    let _operator = Operator::start(&namespace, &[])?;
    let spec = json!({"approval": {"policy": "Manual"}, "deletionPolicy": "Destroy"});
    namespace.apply(&with(&namespace, 1, "red", &[], &spec))?;
    let made = namespace.pending(kiln::NAME, "")?;
    namespace.approve(kiln::NAME, &made)?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;
    namespace.world.break_pot("pot-base-1")?;
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    // The plan has nothing to destroy. The state says so too then, and goes.
    namespace.wait_gone(kiln::NAME)?;
    for (kind, name) in [
        ("secret", "tfstate-default-pots"),
        ("lease", "lock-tfstate-default-pots"),
    ] {
        assert!(namespace.get(kind, name)?.is_none(), "{kind} {name}");
    }
    Ok(())
}

#[test]
fn a_destroy_waits_for_its_approval_on_the_object_that_goes() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "destroy")?;
    let _operator = Operator::start(&namespace, &[])?;
    let world = &namespace.world;
    let spec = json!({"approval": {"policy": "Manual"}, "deletionPolicy": "Destroy"});
    namespace.apply(&with(&namespace, 1, "red", &["a"], &spec))?;
    let made = namespace.pending(kiln::NAME, "")?;
    namespace.approve(kiln::NAME, &made)?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;

    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    let unmade = namespace.pending(kiln::NAME, &made)?;
    let workspace = namespace.workspace(kiln::NAME)?;
    assert_eq!(workspace["status"]["plan"]["kind"], "Destroy");
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+0 ~0 -2");
    assert_eq!(reason(&workspace, "Ready").as_deref(), Some("AwaitingApproval"));
    assert_eq!(world.pots()?, ["pot-a-1", "pot-base-1"]);

    // The approval of the creation is spent: it is worth nothing here, and nobody gave a wrong one.
    assert_eq!(workspace["spec"]["approval"]["approvedPlan"], made.as_str());
    assert_eq!(workspace["status"]["approval"]["state"], "Pending");
    namespace.approve(kiln::NAME, &unmade)?;
    namespace.wait_gone(kiln::NAME)?;
    assert_eq!(world.pots()?, Vec::<String>::new());
    Ok(())
}

#[test]
fn mode_destroy_keeps_the_workspace() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "mode")?;
    let _operator = Operator::start(&namespace, &[])?;
    let auto = json!({"approval": {"policy": "Auto"}});
    settle(&namespace, &with(&namespace, 1, "red", &["a"], &auto), "+2 ~0 -0")?;

    // What is only planned is never made.
    let mut only = auto.clone();
    only["mode"] = json!("PlanOnly");
    namespace.apply(&with(&namespace, 9, "red", &["a"], &only))?;
    namespace.wait(kiln::NAME, "the plan is shown", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("PlanOnly")).then_some(())
    })?;
    assert_eq!(namespace.world.pot("pot-base-1")?["attributes"]["size"], 1);

    let mut destroy = auto.clone();
    destroy["mode"] = json!("Destroy");
    namespace.apply(&with(&namespace, 1, "red", &["a"], &destroy))?;
    namespace.wait(kiln::NAME, "all is destroyed", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("Destroyed")).then_some(())
    })?;
    assert_eq!(namespace.world.pots()?, Vec::<String>::new());

    // While suspended nothing is begun; afterwards it is.
    let mut suspended = auto.clone();
    suspended["suspend"] = json!(true);
    namespace.apply(&with(&namespace, 1, "red", &["a"], &suspended))?;
    namespace.wait(kiln::NAME, "it is suspended", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("Suspended")).then_some(())
    })?;
    assert_eq!(namespace.world.pots()?, Vec::<String>::new());
    settle(&namespace, &with(&namespace, 1, "red", &["a"], &auto), "+2 ~0 -0")?;
    assert_eq!(namespace.world.pots()?, ["pot-a-2", "pot-base-2"]);
    Ok(())
}
