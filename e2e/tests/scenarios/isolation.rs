//! What a module and its providers can reach of the operator: nothing but their own.

use anyhow::{Context, Result};
use ashlar_e2e::{Bench, Namespace, Operator, condition};
use serde_json::{Value, json};

fn workspace(name: &str, module: &str) -> String {
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {
            "source": {"inline": {"files": {"main.tf": module, "own.txt": "mine"}}},
            "approval": {"policy": "Auto"},
        },
    })
    .to_string()
}

/// What its conditions say once it has failed.
fn failed(namespace: &Namespace, name: &str) -> Result<String> {
    let workspace = namespace.wait_for(name, "Ready", "False")?;
    Ok(workspace["status"].to_string())
}

#[test]
fn a_module_reaches_nothing_of_the_operator() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "isolation")?;
    let operator = Operator::start(&namespace, &[])?;
    let (token, work) = (operator.token(), operator.work());
    let secret = std::fs::read_to_string(&token)?;
    let token = token.to_str().context("the path is no text")?;

    // Functions stay in the module's own files, however the way out is written.
    for (name, path) in [
        ("absolute", token.to_owned()),
        ("dots", format!("${{path.module}}/../../../../../../..{token}")),
        ("home", "~/.ssh/config".to_owned()),
    ] {
        let module = format!("output \"it\" {{\n  value = file(\"{path}\")\n}}\n");
        namespace.apply(&workspace(name, &module))?;
        let told = failed(&namespace, name)?;
        assert!(
            told.contains("main.tf") && !told.contains(secret.trim()),
            "{name}: {told}"
        );
        assert_eq!(
            condition(&namespace.workspace(name)?, "Stalled").as_deref(),
            Some("True"),
            "{told}"
        );
    }
    namespace.apply(&workspace(
        "own",
        "output \"it\" {\n  value = file(\"${path.module}/own.txt\")\n}\n",
    ))?;
    let own = namespace.wait_for("own", "Ready", "True")?;
    assert_eq!(own["status"]["outputs"][0]["value"], "\"mine\"");

    // A real provider is fenced in, reading and writing.
    let local = "terraform {\n  required_providers {\n    local = { source = \"hashicorp/local\" }\n  }\n}\n";
    let read = format!("{local}data \"local_file\" \"it\" {{\n  filename = \"{token}\"\n}}\n");
    namespace.apply(&workspace("reads", &read))?;
    let told = failed(&namespace, "reads")?;
    assert!(
        told.contains("permission denied") && !told.contains(secret.trim()),
        "{told}"
    );
    let target = work.join("planted");
    let write = format!(
        "{local}resource \"local_file\" \"it\" {{\n  filename = \"{}\"\n  content  = \"x\"\n}}\n",
        target.display()
    );
    namespace.apply(&workspace("writes", &write))?;
    let told = failed(&namespace, "writes")?;
    assert!(told.contains("permission denied") && !target.exists(), "{told}");

    // A hostile provider looks for more.
    let places = json!({
        "token": token,
        "kubeconfig": operator.token().with_file_name("kubeconfig"),
        "log": operator.log(),
        "runs": work.join("run"),
        "plugins": work.join("p"),
        "environment": format!("/proc/{}/environ", operator.pid()),
        "memory": format!("/proc/{}/maps", operator.pid()),
        "shadow": "/etc/shadow",
        "home": "/root",
    });
    let module = format!(
        r#"
terraform {{
  required_providers {{
    snoop = {{ source = "forge.test/studio/snoop" }}
  }}
}}
locals {{
  places = jsondecode({places})
}}
data "snoop_read" "it" {{
  for_each = local.places
  path     = each.value
}}
data "snoop_read" "own" {{
  path = "${{path.module}}/own.txt"
}}
data "snoop_env" "it" {{}}
output "seen" {{
  value = [for place, read in data.snoop_read.it : place if read.error == null]
}}
output "own" {{
  value = data.snoop_read.own.content
}}
output "environment" {{
  value = data.snoop_env.it.names
}}
"#,
        places = serde_json::to_string(&places.to_string())?,
    );
    namespace.apply(&workspace("snoops", &module))?;
    let workspace = namespace.wait_for("snoops", "Ready", "True")?;
    let output = |name: &str| -> Result<Value> {
        let all = workspace["status"]["outputs"].as_array().into_iter().flatten();
        let found = all
            .filter(|output| output["name"] == name)
            .find_map(|output| output["value"].as_str());
        Ok(serde_json::from_str(
            found.with_context(|| format!("there is no output {name}"))?,
        )?)
    };
    assert_eq!(output("seen")?, json!([]));
    assert_eq!(output("own")?, "mine");
    let names = output("environment")?.to_string();
    assert!(!names.contains("KUBE") && !names.contains("ASHLAR"), "{names}");
    Ok(())
}
