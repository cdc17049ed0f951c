//! A workspace that only observes changes no object, and one whose plans are limited says so.

use anyhow::{Context, Result};
use ashlar_e2e::{Bench, Namespace, Operator, condition, reason};
use serde_json::{Value, json};

use crate::kiln;

fn with(namespace: &Namespace, size: i64, mode: &str, policy: &str, plan: Value) -> String {
    let module = format!(
        "resource \"kiln_pot\" \"a\" {{\n  name = \"a\"\n  size = {size}\n}}\n\
         resource \"kiln_pot\" \"b\" {{\n  name = \"b\"\n  size = {size}\n}}\n"
    );
    let spec =
        json!({"mode": mode, "approval": {"policy": policy}, "plan": plan, "deletionPolicy": "Destroy"});
    kiln::workspace(namespace, &module, spec)
}

/// Waits until the manifest that was applied last is done with, and Ready.
fn done(namespace: &Namespace, what: &str) -> Result<Value> {
    let generation = namespace.workspace(kiln::NAME)?["metadata"]["generation"].clone();
    namespace.wait(kiln::NAME, what, |workspace| {
        let done = workspace["status"]["observedGeneration"] == generation
            && condition(workspace, "Ready").as_deref() == Some("True");
        done.then(|| workspace.clone())
    })
}

fn message(workspace: &Value, kind: &str) -> Option<String> {
    let conditions = workspace["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    found["message"].as_str().map(str::to_owned)
}

#[test]
fn what_changed_outside_is_taken_over_and_a_limited_plan_says_so() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "limited")?;
    let _operator = Operator::start(&namespace, &[])?;
    let world = &namespace.world;
    namespace.apply(&with(&namespace, 1, "Manage", "Auto", json!({})))?;
    done(&namespace, "the pots are made")?;

    // What someone else did is shown first, and taken over once that is approved; the module asks for something else.
    let mut pot = world.pot("pot-a-1")?;
    pot["attributes"]["glaze"] = json!("green");
    world.put_pot("pot-a-1", &pot)?;
    namespace.apply(&with(&namespace, 2, "Observe", "Manual", json!({})))?;
    let digest = namespace.pending(kiln::NAME, "")?;
    let waiting = namespace.workspace(kiln::NAME)?;
    let plan = &waiting["status"]["plan"];
    assert_eq!(
        (&plan["kind"], &plan["summary"]["drift"]),
        (&json!("Refresh"), &json!(1))
    );
    assert_eq!(plan["changes"][0]["address"], "kiln_pot.a");
    namespace.approve(kiln::NAME, &digest)?;
    let taken = done(&namespace, "the drift is taken over")?;
    assert_eq!(reason(&taken, "Ready").as_deref(), Some("Observed"));
    assert_eq!(world.pot("pot-a-1")?["attributes"]["glaze"], "green");
    assert_eq!(world.count("start", "update", "")?, 0);

    // Only one of two changes is planned and made, and whoever looks is told that. Under Auto no approval may stand there.
    namespace.patch(kiln::NAME, &json!({"spec": {"approval": {"approvedPlan": null}}}))?;
    let limited = json!({"targets": ["kiln_pot.b"]});
    namespace.apply(&with(&namespace, 3, "Manage", "Auto", limited))?;
    let partly = namespace.wait(kiln::NAME, "the limited plan is applied", |workspace| {
        let plan = &workspace["status"]["plan"];
        let done = plan["partial"] == true
            && plan["standing"] == "Applied"
            && condition(workspace, "Ready").as_deref() == Some("True");
        done.then(|| workspace.clone())
    })?;
    let told = message(&partly, "Ready").context("no message")?;
    assert!(told.contains("partial plan"), "{told}");
    let sizes = |id: &str| Ok::<_, anyhow::Error>(world.pot(id)?["attributes"]["size"].clone());
    assert_eq!((sizes("pot-a-1")?, sizes("pot-b-1")?), (json!(1), json!(3)));

    // A list that names nothing that can be is refused with the field that it stands in.
    namespace.apply(&with(
        &namespace,
        3,
        "Manage",
        "Auto",
        json!({"exclude": ["kiln_pot"]}),
    ))?;
    let refused = namespace.wait_for(kiln::NAME, "Stalled", "True")?;
    let told = message(&refused, "Stalled").context("no message")?;
    assert!(told.contains("spec.plan.exclude"), "{told}");

    // What goes takes everything along, whatever was limited.
    namespace.apply(&with(
        &namespace,
        3,
        "Manage",
        "Auto",
        json!({"exclude": ["kiln_pot.a"]}),
    ))?;
    done(&namespace, "the limited plan stands")?;
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    namespace.wait_gone(kiln::NAME)?;
    assert_eq!(world.pots()?, Vec::<String>::new());
    Ok(())
}
