//! Two operators look after the same workspaces: each run is made once.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator};
use serde_json::{Value, json};

use crate::kiln;

const MODULE: &str = r#"
resource "kiln_pot" "many" {
  count = 5
  name  = "many-${count.index}"
}
"#;

#[test]
fn two_operators_make_one_run() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "replicas")?;
    let _one = Operator::start(&namespace, &["--replica-id", "one"])?;
    let _two = Operator::start(&namespace, &["--replica-id", "two"])?;
    let spec = json!({"approval": {"policy": "Auto"}, "interval": "30s"});
    namespace.apply(&kiln::workspace(&namespace, MODULE, spec))?;
    namespace.wait_for(kiln::NAME, "Ready", "True")?;
    // Several rounds with both at it: asked for plans, nothing is made again.
    for round in ["1", "2", "3"] {
        namespace.request(kiln::NAME, round)?;
        namespace.wait(kiln::NAME, "the plan that was asked for is made", |workspace| {
            let status = &workspace["status"];
            let done = status["lastHandledReconcileAt"] == round && status["plan"]["standing"] == "Empty";
            done.then_some(())
        })?;
    }
    assert_eq!(namespace.world.count("start", "create", "")?, 5);
    assert_eq!(namespace.world.pots()?.len(), 5);
    let events: Value = serde_json::from_str(&namespace.kubectl(&["get", "events", "-o", "json"])?)?;
    let applied = events["items"].as_array().into_iter().flatten();
    let applied: Vec<&Value> = applied.filter(|event| event["reason"] == "Applied").collect();
    assert_eq!(applied.len(), 1, "{applied:#?}");
    let leases = namespace.kubectl(&["get", "leases", "-o", "name"])?;
    assert_eq!(leases.matches("ashlar-replica-").count(), 2, "{leases}");
    Ok(())
}
