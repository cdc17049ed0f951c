//! Plans in files, what is shown of plans and states, outputs, and imports, in a folder.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value as Json, json};

fn ashlar(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("TF_WORKSPACE")
        .output()
        .unwrap()
}

/// Runs a command that succeeds; gives what it printed.
fn done(folder: &Path, arguments: &[&str]) -> String {
    let output = ashlar(folder, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that fails; gives what it complained of.
fn refused(folder: &Path, arguments: &[&str]) -> String {
    let output = ashlar(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.tf"), text).unwrap();
    folder
}

const MODULE: &str = r#"
variable "v" {
  default = "x"
}
resource "terraform_data" "a" {
  input = var.v
}
output "o" {
  value = terraform_data.a.output
}
output "list" {
  value = [1, null]
}
output "secret" {
  value     = "hush"
  sensitive = true
}
"#;

#[test]
fn a_plan_in_a_file_is_applied_once_and_as_it_is() {
    let folder = folder(MODULE);
    let at = folder.path();
    done(at, &["plan", "-var", "v=first", "-out=one"]);
    done(at, &["plan", "-var", "v=second", "-out=two"]);
    let mode = std::fs::metadata(at.join("one")).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0);
    assert!(refused(at, &["destroy", "one"]).contains("plan --destroy --out"));
    let told = refused(at, &["apply", "-var", "v=x", "one"]);
    assert!(
        told.contains("Can't change variable when applying a saved plan"),
        "{told}"
    );
    // What stands in the folder no longer counts.
    std::fs::remove_file(at.join("main.tf")).unwrap();
    let told = done(at, &["apply", "one"]);
    assert!(
        told.contains("Apply complete! Resources: 1 added, 0 changed, 0 destroyed."),
        "{told}"
    );
    assert_eq!(done(at, &["output", "-raw", "o"]), "first");
    assert!(refused(at, &["apply", "one"]).contains("Saved plan is stale"));
    assert!(refused(at, &["apply", "two"]).contains("Saved plan"));
    assert!(refused(at, &["apply", "none"]).contains("Failed to load \"none\" as a plan file"));
    assert!(!refused(at, &["apply", "terraform.tfstate"]).is_empty());
}

#[test]
fn a_plan_in_a_file_gets_values_that_it_does_not_keep() {
    let folder = folder("variable \"e\" {\n  ephemeral = true\n}\nresource \"terraform_data\" \"a\" {}\n");
    let at = folder.path();
    done(at, &["plan", "-var", "e=x", "-out=plan"]);
    let told = refused(at, &["apply", "plan"]);
    assert!(told.contains("No value for required variable"), "{told}");
    // That was no beginning.
    std::fs::write(at.join("values"), "e = \"y\"\n").unwrap();
    done(at, &["apply", "-var-file", "values", "plan"]);
    assert!(refused(at, &["apply", "-var", "e=x", "plan"]).contains("Saved plan is stale"));
}

#[test]
fn a_refresh_applies_no_plan_in_a_file() {
    let folder = folder("resource \"terraform_data\" \"a\" {}\n");
    let at = folder.path();
    done(at, &["plan", "-out=plan"]);
    assert!(refused(at, &["refresh", "plan"]).contains("unexpected argument"));
    done(at, &["refresh"]);
    assert!(refused(at, &["state", "list"]).contains("There is no state"));
}

#[test]
fn outputs_are_told_as_they_are_asked_for() {
    let folder = folder(MODULE);
    let at = folder.path();
    assert_eq!(done(at, &["output"]), "");
    assert_eq!(done(at, &["output", "-json"]), "{}\n");
    done(at, &["apply", "-auto-approve"]);
    assert_eq!(
        done(at, &["output"]),
        "list = [\n  1,\n  null,\n]\no = \"x\"\nsecret = <sensitive>\n"
    );
    assert_eq!(done(at, &["output", "secret"]), "\"hush\"\n");
    assert_eq!(done(at, &["output", "-raw", "secret"]), "hush");
    assert_eq!(done(at, &["output", "-json", "list"]), "[1,null]\n");
    let all: Json = serde_json::from_str(&done(at, &["output", "-json"])).unwrap();
    assert_eq!(
        all["secret"],
        json!({"sensitive": true, "type": "string", "value": "hush"})
    );
    assert!(refused(at, &["output", "none"]).contains("Output \"none\" not found"));
    assert!(refused(at, &["output", "-raw", "list"]).contains("Unsupported value for raw output"));
}

#[test]
fn plans_and_states_are_shown() {
    let folder = folder(MODULE);
    let at = folder.path();
    assert_eq!(
        serde_json::from_str::<Json>(&done(at, &["show", "-json"])).unwrap(),
        json!({"format_version": "1.0"})
    );
    assert_eq!(done(at, &["show"]), "No state.\n");
    let told = done(at, &["plan", "-out=plan", "-steps"]);
    assert!(
        told.contains("\nSteps:\n  s0 ") && told.contains("create terraform_data.a after s"),
        "{told}"
    );
    let plan: Json = serde_json::from_str(&done(at, &["show", "-json", "plan"])).unwrap();
    assert_eq!(plan["resource_changes"][0]["address"], "terraform_data.a");
    assert_eq!(
        plan["configuration"]["root_module"]["resources"][0],
        json!({
            "address": "terraform_data.a", "mode": "managed", "type": "terraform_data", "name": "a",
            "provider_config_key": "terraform", "schema_version": 0,
            "expressions": {"input": {"references": ["var.v"]}},
        })
    );
    assert_eq!(
        plan["configuration"]["root_module"]["outputs"]["o"],
        json!({"expression": {"references": ["terraform_data.a.output", "terraform_data.a"]}})
    );
    assert!(done(at, &["show", "plan"]).contains("terraform_data.a will be created"));
    done(at, &["apply", "plan"]);
    let state: Json = serde_json::from_str(&done(at, &["show", "-json"])).unwrap();
    assert_eq!(
        state["values"]["root_module"]["resources"][0]["values"]["input"],
        "x"
    );
    let file: Json = serde_json::from_str(&done(at, &["show", "-json", "terraform.tfstate"])).unwrap();
    assert_eq!(file, state);
    let shown = done(at, &["state", "show", "terraform_data.a"]);
    assert!(
        shown.starts_with("# terraform_data.a:\nresource \"terraform_data\" \"a\" {\n    id ")
            && shown.contains("\n    input  = \"x\"\n")
            && shown.ends_with("\n}\n"),
        "{shown}"
    );
    assert!(refused(at, &["state", "show", "terraform_data.b"]).contains("No instance found"));
    let id = state["values"]["root_module"]["resources"][0]["values"]["id"].clone();
    let whole = format!(
        "# terraform_data.a:\nresource \"terraform_data\" \"a\" {{\n    id     = {id}\n    input  = \"x\"\n    output = \"x\"\n}}\n\n\n\
         Outputs:\n\nlist = [\n    1,\n    null,\n]\no = \"x\"\nsecret = (sensitive value)\n"
    );
    assert_eq!(done(at, &["show"]), whole);
    assert_eq!(done(at, &["show", "terraform.tfstate"]), whole);
    done(at, &["taint", "terraform_data.a"]);
    assert!(done(at, &["show"]).starts_with("# terraform_data.a: (tainted)\n"));
}

#[test]
fn an_object_is_taken_in_for_what_is_configured() {
    let folder = folder(
        "resource \"terraform_data\" \"a\" {\n  count = 1\n}\ndata \"terraform_remote_state\" \"other\" {\n  backend = \"local\"\n  \
         config  = { path = \"none\" }\n}\n",
    );
    let at = folder.path();
    // The rest of the configuration is no business of it.
    let output = ashlar(at, &["import", "terraform_data.a[0]", "the \"${id}\" %{x"]);
    let (told, warned) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(told.contains("Import successful!"), "{told}{warned}");
    assert!(!warned.contains("targeting"), "{warned}");
    let state = std::fs::read(at.join("terraform.tfstate")).unwrap();
    let state: Json = serde_json::from_slice(&state).unwrap();
    let instance = &state["resources"][0]["instances"][0];
    assert_eq!(instance["attributes"]["id"], "the \"${id}\" %{x");
    assert_eq!(instance["index_key"], 0);
    assert!(!at.join(".ashlar/journal.jsonl").exists());
    assert!(
        refused(at, &["import", "terraform_data.a[0]", "other"])
            .contains("Resource already managed by Terraform")
    );
    assert!(!refused(at, &["import", "terraform_data.b", "x"]).is_empty());
    assert!(refused(at, &["import", "data.a.b", "x"]).contains("managed resource"));
}

#[test]
fn providers_are_listed_by_module() {
    let folder = folder(
        "module \"m\" {\n  source = \"./m\"\n}\nresource \"terraform_data\" \"a\" {}\nterraform {\n  required_providers {\n    \
         null = {\n      source  = \"hashicorp/null\"\n      version = \"~> 3.0\"\n    }\n  }\n}\n",
    );
    let at = folder.path();
    std::fs::create_dir(at.join("m")).unwrap();
    std::fs::write(at.join("m/main.tf"), "resource \"null_resource\" \"a\" {}\n").unwrap();
    assert_eq!(
        done(at, &["providers"]),
        "\nProviders required by configuration:\n.\n├── provider[registry.terraform.io/hashicorp/null] ~> 3.0\n\
         ├── provider[terraform.io/builtin/terraform]\n└── module.m\n    └── provider[registry.terraform.io/hashicorp/null]\n"
    );
}

#[test]
fn a_constant_variable_says_where_a_module_is() {
    let folder = folder(
        "variable \"kind\" {\n  type  = string\n  const = true\n}\nmodule \"m\" {\n  source = \"./${var.kind}\"\n}\noutput \"o\" {\n  \
         value = module.m.told\n}\n",
    );
    let at = folder.path();
    for name in ["one", "two"] {
        std::fs::create_dir(at.join(name)).unwrap();
        let text = format!("output \"told\" {{\n  value = \"{name}\"\n}}\n");
        std::fs::write(at.join(name).join("main.tf"), text).unwrap();
    }
    assert!(refused(at, &["validate"]).contains("Unknown module source"));
    done(at, &["validate", "-var", "kind=one"]);
    std::fs::write(at.join("terraform.tfvars"), "kind = \"one\"\n").unwrap();
    done(at, &["validate"]);
    done(at, &["apply", "-auto-approve"]);
    assert_eq!(done(at, &["output", "-raw", "o"]), "one");
    done(at, &["plan", "-var", "kind=two", "-out=plan"]);
    done(at, &["apply", "plan"]);
    assert_eq!(done(at, &["output", "-raw", "o"]), "two");
}
