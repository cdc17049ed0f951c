//! What a workspace reads of other states, and what it may run here, with the chart's rights.

use anyhow::Result;
use ashlar_e2e::{Bench, Namespace, Operator};
use serde_json::{Value, json};

fn workspace(name: &str, module: &str) -> String {
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {
            "source": {"inline": {"files": {"main.tf": module}}},
            "state": {"secretSuffix": name},
            "approval": {"policy": "Auto"},
        },
    })
    .to_string()
}

fn reads(namespace: &str) -> String {
    format!(
        "data \"terraform_remote_state\" \"other\" {{\n  backend = \"kubernetes\"\n  config = {{\n    secret_suffix = \"gives\"\n    \
         namespace     = \"{namespace}\"\n  }}\n}}\noutput \"open\" {{\n  value = data.terraform_remote_state.other.outputs.open\n}}\n\
         output \"secret\" {{\n  value     = data.terraform_remote_state.other.outputs.secret\n  sensitive = true\n}}\n"
    )
}

#[test]
fn a_workspace_reads_states_of_its_own_namespace_and_runs_no_program() -> Result<()> {
    let bench = Bench::open()?;
    let (own, other) = (
        Namespace::new(&bench, "states")?,
        Namespace::new(&bench, "states")?,
    );
    let _operator = Operator::start(&own, &[])?;
    own.apply(&workspace(
        "gives",
        "output \"open\" {\n  value = \"seen\"\n}\noutput \"secret\" {\n  value     = \"hunter22\"\n  sensitive = true\n}\n",
    ))?;
    own.wait_for("gives", "Ready", "True")?;
    own.apply(&workspace("takes", &reads(&own.name)))?;
    let taken = own.wait_for("takes", "Ready", "True")?;
    let outputs = taken["status"]["outputs"].as_array().cloned().unwrap_or_default();
    let open = outputs.iter().find(|output| output["name"] == "open");
    assert_eq!(
        open.map(|output| &output["value"]),
        Some(&Value::from("\"seen\""))
    );
    assert!(!taken["status"].to_string().contains("hunter22"), "{taken}");

    own.apply(&workspace("prys", &reads(&other.name)))?;
    let told = own.wait_for("prys", "Ready", "False")?["status"].to_string();
    assert!(told.contains("own namespace"), "{told}");

    // An output that would show what is sensitive there is refused.
    let shows = reads(&own.name).replace("  sensitive = true\n", "");
    own.apply(&workspace("shows", &shows))?;
    let told = own.wait_for("shows", "Ready", "False")?["status"].to_string();
    assert!(told.contains("sensitive") && !told.contains("hunter22"), "{told}");

    let runs = "resource \"terraform_data\" \"it\" {\n  provisioner \"local-exec\" {\n    command = \"true\"\n  }\n}\n";
    own.apply(&workspace("runs", runs))?;
    let told = own.wait_for("runs", "Ready", "False")?["status"].to_string();
    assert!(told.contains("allowLocalExec"), "{told}");
    Ok(())
}
