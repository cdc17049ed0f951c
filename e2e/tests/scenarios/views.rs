//! What `kubectl` shows of a Workspace.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator};
use serde_json::json;

use crate::kiln;

#[test]
fn kubectl_shows_waits_and_explains() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "views")?;
    let module = "resource \"kiln_pot\" \"only\" {\n  name = \"only\"\n}\n";
    namespace.apply(&kiln::workspace(&namespace, module, json!({})))?;

    // Nobody has looked yet: whoever waits must not take it for done.
    assert_eq!(
        namespace.workspace(kiln::NAME)?["status"]["observedGeneration"],
        -1
    );
    let _operator = Operator::start(&namespace, &[])?;
    let digest = namespace.pending(kiln::NAME, "")?;
    let columns = || -> Result<Vec<String>> {
        let text = namespace.kubectl(&["get", "asw"])?;
        Ok(text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect())
    };
    let shown = columns()?;
    assert_eq!(shown[0], "NAME READY PLAN APPROVAL AGE");
    assert!(shown[1].starts_with("pots False +1 ~0 -0 Pending "), "{shown:?}");

    namespace.approve(kiln::NAME, &digest)?;
    namespace.kubectl(&["wait", "asw/pots", "--for=condition=Ready", "--timeout=120s"])?;
    let shown = columns()?;
    assert!(
        shown[1].starts_with("pots True +1 ~0 -0 NotRequired "),
        "{shown:?}"
    );
    assert!(
        namespace
            .kubectl(&["get", "iac", "-o", "name"])?
            .contains("/pots")
    );

    // Each field is explained, to the last.
    let all = namespace.kubectl(&["explain", "workspace.spec", "--recursive"])?;
    let fields = all
        .lines()
        .filter(|line| line.contains('<') && line.starts_with("  "))
        .count();
    assert!(fields > 30, "{all}");
    let spec = namespace.kubectl(&["explain", "workspace.spec"])?;
    for field in [
        "approval",
        "deletionPolicy",
        "interval",
        "source",
        "variables",
        "timeout",
    ] {
        let text = namespace.kubectl(&["explain", &format!("workspace.spec.{field}")])?;
        let description = text.split("DESCRIPTION:").nth(1).unwrap_or_default().trim();
        assert!(
            !description.is_empty() && !description.starts_with("<empty>"),
            "{field}: {text}"
        );
        assert!(spec.contains(field));
    }
    Ok(())
}
