//! An operator that is killed in the middle of an apply: the next one takes the lock over, tells what is not known, and
//! makes nothing a second time on its own.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::json;

use crate::kiln;

const MODULE: &str = r#"
resource "kiln_pot" "base" {
  name = "base"
}
resource "kiln_pot" "slow" {
  name  = "slow"
  glaze = kiln_pot.base.id
}
resource "kiln_pot" "after" {
  name  = "after"
  glaze = kiln_pot.slow.id
}
"#;

/// Waits until the provider has been asked to create the slow pot.
fn wait_begun(namespace: &Namespace) -> Result<()> {
    let end = Instant::now() + Duration::from_secs(120);
    while namespace.world.count("start", "create", "slow")? == 0 {
        if Instant::now() > end {
            bail!("the slow pot was never begun");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

#[test]
fn a_killed_operators_run_is_taken_over_and_nothing_is_made_twice() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "crash")?;
    let world = &namespace.world;
    let operator = Operator::start(&namespace, &[])?;
    let spec = |slow: &str| {
        json!({
            "approval": {"policy": "Auto"},
            "env": [
                {"name": "KILN_DIR", "value": world.path()},
                {"name": "KILN_SLOW", "value": format!("{slow}:create kiln_pot slow")},
            ],
        })
    };
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec("30000")))?;
    wait_begun(&namespace)?;
    operator.kill()?;
    // The call got through to the remote system, though nobody heard its answer.
    world.put_pot(
        "pot-slow-0",
        &json!({"id": "pot-slow-0", "type": "kiln_pot", "name": "slow", "attributes": {}}),
    )?;

    let _second = Operator::start(&namespace, &[])?;
    let workspace = namespace.wait(kiln::NAME, "the uncertain change is told", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("UncertainChanges")).then(|| workspace.clone())
    })?;
    let uncertain = json!([{"address": "kiln_pot.slow", "action": "create"}]);
    assert_eq!(workspace["status"]["run"]["uncertain"], uncertain);
    assert_eq!(condition(&workspace, "Ready").as_deref(), Some("False"));
    // What the first operator had made is in the state, and its provider died with it.
    assert_eq!(workspace["status"]["state"]["resourceCount"], 1);
    assert_eq!(world.count("finish", "create", "slow")?, 0);
    assert_eq!(world.count("start", "create", "")?, 2);
    assert_eq!(world.pots()?, ["pot-base-1", "pot-slow-0"]);

    // A person removes what nobody knew of, and says so; then it is gone on with.
    world.break_pot("pot-slow-0")?;
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec("0")))?;
    namespace.patch(
        kiln::NAME,
        &json!({"metadata": {"annotations": {"ashlar.dev/settled": "kiln_pot.slow"}}}),
    )?;
    let workspace = namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(workspace["status"]["run"], serde_json::Value::Null);
    assert_eq!(world.pots()?, ["pot-after-1", "pot-base-1", "pot-slow-1"]);
    let transitions = "jsonpath={.spec.leaseTransitions}";
    let lease = ["get", "lease", "lock-tfstate-default-pots", "-o", transitions];
    assert!(
        namespace.kubectl(&lease)?.parse::<u64>()? > 2,
        "each taking is counted"
    );
    Ok(())
}

#[test]
fn a_workspace_that_goes_after_a_crash_leaves_all_that_is_known() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "left")?;
    let world = &namespace.world;
    let operator = Operator::start(&namespace, &[])?;
    let spec = |slow: &str| {
        json!({
            "approval": {"policy": "Auto"},
            "deletionPolicy": "Retain",
            "env": [
                {"name": "KILN_DIR", "value": world.path()},
                {"name": "KILN_SLOW", "value": format!("{slow}:create kiln_pot slow")},
            ],
        })
    };
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec("30000")))?;
    wait_begun(&namespace)?;
    operator.kill()?;
    // Whatever belongs to the workspace goes before it.
    let delete = [
        "delete",
        "workspaces.ashlar.dev",
        kiln::NAME,
        "--cascade=foreground",
        "--wait=false",
    ];
    namespace.kubectl(&delete)?;
    let _second = Operator::start(&namespace, &[])?;
    namespace.wait_gone(kiln::NAME)?;

    // A person sees on the state what is not known.
    let note = "jsonpath={.metadata.annotations.ashlar\\.dev/uncertain-changes}";
    let note = namespace.kubectl(&["get", "secret", "tfstate-default-pots", "-o", note])?;
    assert_eq!(note, "kiln_pot.slow (create)");
    let state = "go-template={{.data.tfstate | base64decode}}";
    assert!(
        !namespace
            .kubectl(&["get", "secret", "tfstate-default-pots", "-o", state])?
            .is_empty()
    );
    // So does whoever takes the state over.
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec("0")))?;
    let workspace = namespace.wait(kiln::NAME, "the uncertain change is told again", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("UncertainChanges")).then(|| workspace.clone())
    })?;
    let uncertain = json!([{"address": "kiln_pot.slow", "action": "create"}]);
    assert_eq!(workspace["status"]["run"]["uncertain"], uncertain);
    assert_eq!(workspace["status"]["state"]["resourceCount"], 1);
    assert_eq!(world.pots()?, ["pot-base-1"]);
    Ok(())
}

#[test]
fn an_operator_that_is_asked_to_end_finishes_what_runs() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "term")?;
    let world = &namespace.world;
    let operator = Operator::start(&namespace, &[])?;
    let spec = json!({
        "approval": {"policy": "Auto"},
        "env": [
            {"name": "KILN_DIR", "value": world.path()},
            {"name": "KILN_SLOW", "value": "4000:create kiln_pot slow"},
        ],
    });
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec))?;
    wait_begun(&namespace)?;
    assert!(operator.stop()?.success());
    // The call that ran was waited for and its result kept; nothing more was begun.
    let workspace = namespace.workspace(kiln::NAME)?;
    assert_eq!(workspace["status"]["state"]["resourceCount"], 2);
    assert_eq!(workspace["status"]["run"], serde_json::Value::Null);
    assert_eq!(world.pots()?, ["pot-base-1", "pot-slow-1"]);
    let holders = namespace.kubectl(&["get", "leases", "-o", "jsonpath={.items[*].spec.holderIdentity}"])?;
    assert_eq!(holders.trim(), "", "lock and presence are given back");

    let _second = Operator::start(&namespace, &[])?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;
    assert_eq!(world.pots()?, ["pot-after-1", "pot-base-1", "pot-slow-1"]);
    Ok(())
}
