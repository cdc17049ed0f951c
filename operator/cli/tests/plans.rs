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
        .env_remove("TF_CLI_CONFIG_FILE")
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
    // As with Terraform there is a state from then on, with nothing in it.
    assert_eq!(done(at, &["state", "list"]), "");
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

#[test]
fn the_folder_and_more_options_come_from_the_command_line_and_the_environment() {
    let folder = folder("variable \"v\" {}\noutput \"o\" {\n  value = var.v\n}\n");
    let at = folder.path();
    let output = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .arg(format!("-chdir={}", at.display()))
        .arg("apply")
        .current_dir("/")
        .env("TF_CLI_ARGS", "-no-color")
        .env("TF_CLI_ARGS_apply", "-auto-approve -var 'v=a b'")
        .env_remove("TF_WORKSPACE")
        .env_remove("TF_CLI_CONFIG_FILE")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(done(at, &["output", "-raw", "o"]), "a b");
    assert!(refused(at, &["-chdir=none", "plan"]).contains("-chdir=none cannot be done"));
}

#[test]
fn variables_without_values_are_told_in_the_order_of_declaration() {
    let folder = folder("variable \"b\" {}\nvariable \"c\" {\n  default = 1\n}\nvariable \"a\" {}\n");
    let told = refused(folder.path(), &["plan", "-input=false"]);
    let places: Vec<usize> = ["main.tf line 1:", "main.tf line 5:"]
        .iter()
        .map(|place| told.find(place).expect(&told))
        .collect();
    assert!(places.is_sorted(), "{told}");
    assert_eq!(told.matches("No value for required variable").count(), 2);
}

#[test]
fn a_plan_that_fails_is_shown_as_far_as_it_came() {
    let folder = folder(
        "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n}\nresource \"terraform_data\" \"b\" {\n  input = \"y\"\n  lifecycle {\n    \
         precondition {\n      condition     = terraform_data.a.input == \"z\"\n      error_message = \"Not z.\"\n    }\n  }\n}\n",
    );
    let at = folder.path();
    let output = ashlar(at, &["plan", "-out=part"]);
    assert_eq!(output.status.code(), Some(1));
    let (printed, told) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        printed.contains("\nAshlar planned the following actions, but then encountered a problem:\n\n  # terraform_data.a will be \
                          created\n")
            && printed.ends_with("\nPlan: 1 to add, 0 to change, 0 to destroy.\n"),
        "{printed}"
    );
    assert!(told.contains("Resource precondition failed"), "{told}");
    assert!(done(at, &["show", "part"]).contains("encountered a problem"));
    assert!(refused(at, &["apply", "part"]).contains("Cannot apply incomplete plan"));
    assert_eq!(ashlar(at, &["apply", "-auto-approve"]).status.code(), Some(1));
    assert!(!at.join("terraform.tfstate").exists());
}

#[test]
fn an_import_into_nothing_tells_what_to_write() {
    let folder = folder("resource \"terraform_data\" \"a\" {}\n");
    let at = folder.path();
    let told = refused(at, &["import", "terraform_data.b", "x"]);
    assert!(
        told.contains("resource address \"terraform_data.b\" does not exist in the configuration.")
            && told.contains("resource \"terraform_data\" \"b\" {\n  # (resource arguments)\n}"),
        "{told}"
    );
    std::fs::write(
        at.join("main.tf"),
        "resource \"terraform_data\" \"a\" {\n  input = none.x.y\n}\n",
    )
    .unwrap();
    let told = refused(at, &["import", "terraform_data.a", "x"]);
    assert!(!told.contains("targeting"), "{told}");
}

#[test]
fn a_fault_is_told_with_its_block_and_the_values_that_may_be_shown() {
    let folder = folder(
        "variable \"n\" {\n  default = 3\n}\nvariable \"hush\" {\n  default   = \"secret\"\n  sensitive = true\n}\nresource \
         \"terraform_data\" \"a\" {\n  lifecycle {\n    precondition {\n      condition     = var.n == 4 && var.hush == \"x\"\n      \
         error_message = \"Not four.\"\n    }\n  }\n}\n",
    );
    let at = folder.path();
    let told = refused(at, &["plan"]);
    let want = "│   on main.tf line 11, in resource \"terraform_data\" \"a\":\n│   11:       condition     = var.n == 4 && var.hush == \"x\"\n│     \
                ├────────────────\n│     │ var.n is 3\n│ \n│ Not four.\n";
    assert!(told.contains(want), "{told}");
    assert!(!told.contains("secret"), "{told}");
    std::fs::write(
        at.join("main.tf"),
        "resource \"terraform_data\" \"a\" {}\nresource \"terraform_data\" \"b\" {\n  count = length(terraform_data.a.id)\n}\n",
    )
    .unwrap();
    let told = refused(at, &["plan"]);
    assert!(
        told.contains("│ terraform_data.a.id is a string, known only after apply\n"),
        "{told}"
    );
    std::fs::write(at.join("main.tf"), "locals {\n  a = {}\n  b = 1 + \"x\"\n}\n").unwrap();
    let answer = ashlar(at, &["validate", "-json"]).stdout;
    let answer: Json = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["diagnostics"][0]["snippet"]["context"], "locals");
}

#[test]
fn programs_are_told_in_messages() {
    let folder = folder(MODULE);
    let at = folder.path();
    let messages = |arguments: &[&str], status: i32| -> Vec<Json> {
        let output = ashlar(at, arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let kinds = |messages: &[Json]| -> String {
        let kinds: Vec<&str> = messages.iter().map(|one| one["type"].as_str().unwrap()).collect();
        kinds.join(" ")
    };
    let planned = messages(&["plan", "-json", "-detailed-exitcode"], 2);
    assert_eq!(
        kinds(&planned),
        "version planned_change change_summary outputs log"
    );
    assert_eq!(planned[0]["terraform"], "1.15.5");
    let change = &planned[1];
    assert_eq!(change["@message"], "terraform_data.a: Plan to create");
    assert_eq!(change["@level"], "info");
    assert_eq!(change["change"]["action"], "create");
    assert_eq!(change["change"]["resource"]["resource_type"], "terraform_data");
    assert_eq!(
        planned[2]["@message"],
        "Plan: 1 to add, 0 to change, 0 to destroy."
    );
    assert_eq!(planned[2]["changes"]["add"], 1);
    assert_eq!(
        planned[3]["outputs"]["secret"],
        json!({"sensitive": true, "action": "create"})
    );
    let refused = messages(&["apply", "-json"], 1);
    assert_eq!(kinds(&refused).split(' ').next_back(), Some("diagnostic"));
    let applied = messages(&["apply", "-json", "-auto-approve"], 0);
    assert_eq!(
        kinds(&applied),
        "version planned_change change_summary outputs log apply_start apply_complete change_summary outputs"
    );
    assert_eq!(applied[6]["hook"]["id_key"], "id");
    assert_eq!(
        applied[7]["@message"],
        "Apply complete! Resources: 1 added, 0 changed, 0 destroyed."
    );
    assert_eq!(applied[7]["changes"]["operation"], "apply");
    let outputs = &applied[8]["outputs"];
    assert_eq!(outputs["o"]["value"], "x");
    assert_eq!(outputs["secret"], json!({"sensitive": true, "type": "string"}));
    std::fs::write(at.join("main.tf"), "output \"o\" {\n  value = none.x.y\n}\n").unwrap();
    let failed = messages(&["plan", "-json"], 1);
    let diagnostic = failed.iter().find(|one| one["type"] == "diagnostic").unwrap();
    assert_eq!(diagnostic["@level"], "error");
    assert_eq!(diagnostic["diagnostic"]["range"]["filename"], "main.tf");
    assert_eq!(diagnostic["diagnostic"]["snippet"]["context"], "output \"o\"");
}

#[test]
fn a_folder_that_is_missing_is_told_with_the_call() {
    let folder = folder("output \"o\" {\n  value = 1\n}\nmodule \"m\" {\n  source = \"./gone\"\n}\n");
    let told = refused(folder.path(), &["validate"]);
    assert!(
        told.contains("The folder gone cannot be read")
            && told.contains("│   on main.tf line 5, in module \"m\":\n│    5:   source = \"./gone\"\n"),
        "{told}"
    );
}

#[test]
fn warnings_are_told_in_short_where_that_is_wanted() {
    let folder = folder("terraform {\n  encryption {}\n}\n");
    let output = ashlar(folder.path(), &["plan", "-compact-warnings", "-dialect=opentofu"]);
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "Warnings:\n\n- Unused encryption block\n  on main.tf line 2\n\nWithout --compact-warnings they are told in full.\n"
    );
}

#[test]
fn a_lock_that_another_holds_is_waited_for() {
    use ashlar_store::file::FileStore;

    let folder = folder("output \"o\" {\n  value = 1\n}\n");
    let at = folder.path();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (store, _) = runtime.block_on(FileStore::open(at, "test")).unwrap();
    let told = refused(at, &["plan", "-lock-timeout=1s"]);
    assert!(
        told.starts_with("Acquiring state lock") && told.contains("Error acquiring the state lock"),
        "{told}"
    );
    let waiting = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(["plan", "-lock-timeout=5m"])
        .current_dir(at)
        .env_remove("TF_WORKSPACE")
        .env_remove("TF_CLI_CONFIG_FILE")
        .spawn()
        .unwrap();
    drop(store);
    assert!(waiting.wait_with_output().unwrap().status.success());
}

#[test]
fn what_a_plan_without_changes_found_out_is_kept() {
    let two = |more: &str| {
        format!(
            "resource \"terraform_data\" \"a\" {{}}\nresource \"terraform_data\" \"b\" {{\n  input = 1\n{more}}}\n"
        )
    };
    let folder = folder(&two(""));
    let path = folder.path();
    done(path, &["apply", "--auto-approve"]);
    let more = "  depends_on = [terraform_data.a]\n  lifecycle {\n    create_before_destroy = true\n  }\n";
    std::fs::write(path.join("main.tf"), two(more)).unwrap();
    // Nobody is asked: nothing is done to any object.
    let told = done(path, &["apply", "--no-input"]);
    assert!(told.contains("0 added, 0 changed, 0 destroyed"), "{told}");
    let state: Json =
        serde_json::from_slice(&std::fs::read(path.join("terraform.tfstate")).unwrap()).unwrap();
    let b = &state["resources"][1]["instances"][0];
    assert_eq!(b["dependencies"], json!(["terraform_data.a"]), "{state}");
    assert_eq!(b["create_before_destroy"], true, "{state}");
    let serial = state["serial"].clone();
    done(path, &["apply", "--no-input"]);
    let state: Json =
        serde_json::from_slice(&std::fs::read(path.join("terraform.tfstate")).unwrap()).unwrap();
    assert_eq!(state["serial"], serial, "nothing new, so nothing is written");
}

#[test]
fn a_word_on_standard_input_approves_and_nothing_else_does() {
    let folder = folder(
        "variable \"needed\" {}\nvariable \"also\" {}\nresource \"terraform_data\" \"a\" {\n  input = \"${var.also} ${var.needed}\"\n}\n",
    );
    let at = folder.path();
    let said = |arguments: &[&str], input: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_ashlar"))
            .args(arguments)
            .current_dir(at)
            .env_remove("TF_WORKSPACE")
            .env_remove("TF_CLI_CONFIG_FILE")
            .env_remove("TF_INPUT")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        // One that ended without reading it has closed its end.
        let _ = std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        (output.status.success(), told)
    };
    let values = ["apply", "-var", "needed=n", "-var", "also=a"];
    for (input, why) in [
        ("", "Nobody can be asked"),
        // Not to its end: whoever wrote it may have been cut off.
        ("yes", "Nobody can be asked"),
        ("\n", "Not approved"),
        ("y\n", "Not approved"),
        (" yes\n", "Not approved"),
        ("no\nyes\n", "Not approved"),
        ("YES\n", "Not approved"),
    ] {
        let (approved, told) = said(&values, input);
        assert!(!approved && told.contains(why), "{input:?}: {told}");
    }
    for never in ["-input=false", "-json"] {
        let (approved, _) = said(&[&values[..], &[never]].concat(), "yes\n");
        assert!(!approved, "{never}");
    }
    assert!(!at.join("terraform.tfstate").exists());
    // Values are asked for by name, as with Terraform, then the approval.
    let (approved, told) = said(&["apply"], "A\nN\nyes\n");
    assert!(approved, "{told}");
    assert!(told.contains("Do you want to perform these actions?"), "{told}");
    assert!(done(at, &["show"]).contains("\"A N\""));
    let (approved, told) = said(&["destroy", "-var=needed=", "-var=also="], "yes \n");
    assert!(approved, "{told}");
    assert!(
        told.contains("Do you really want to destroy all resources?"),
        "{told}"
    );
    let (planned, told) = said(&["plan"], "A\n");
    assert!(
        !planned && told.contains("No value for required variable"),
        "{told}"
    );
}

#[test]
fn a_plan_of_terraforms_own_is_told_as_such() {
    let folder = folder(MODULE);
    let at = folder.path();
    // Its plan files are archives.
    std::fs::write(at.join("tfplan"), b"PK\x03\x04\x14\x00\x08\x00").unwrap();
    for command in ["apply", "show"] {
        let told = refused(at, &[command, "tfplan"]);
        assert!(
            told.contains("a plan that Terraform or OpenTofu made") && told.contains("ashlar plan --out"),
            "{told}"
        );
    }
}

#[test]
fn versions_of_providers_are_those_of_the_lock_file() {
    let folder = folder(MODULE);
    let at = folder.path();
    assert!(!done(at, &["version"]).contains("+ provider"));
    std::fs::write(
        at.join(".terraform.lock.hcl"),
        "provider \"registry.terraform.io/hashicorp/null\" {\n  version = \"3.2.4\"\n}\nprovider \"registry.terraform.io/a/b\" {\n  version = \
         \"1.0.0-beta1\"\n}\n",
    )
    .unwrap();
    let told = done(at, &["version"]);
    assert!(
        told.ends_with(
            "+ provider registry.terraform.io/a/b v1.0.0-beta1\n+ provider registry.terraform.io/hashicorp/null v3.2.4\n"
        ),
        "{told}"
    );
    let elsewhere = tempfile::tempdir().unwrap();
    let dir = format!("--dir={}", at.display());
    let told: Json =
        serde_json::from_str(&done(elsewhere.path(), &["version", "-json", dir.as_str()])).unwrap();
    assert_eq!(
        told["provider_selections"],
        json!({ "registry.terraform.io/a/b": "1.0.0-beta1", "registry.terraform.io/hashicorp/null": "3.2.4" })
    );
}

#[test]
fn a_cli_configuration_that_is_named_and_not_there_is_warned_of() {
    let folder = folder("locals {}\n");
    let run = |file: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_ashlar"))
            .arg("plan")
            .current_dir(folder.path())
            .env("TF_CLI_CONFIG_FILE", file)
            .output()
            .unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    let told = run("/nowhere/rc");
    let warning = "Warning: Unable to open CLI configuration file";
    assert_eq!(told.matches(warning).count(), 1, "{told}");
    assert!(told.contains("\"/nowhere/rc\" does not exist"), "{told}");
    std::fs::write(folder.path().join("rc"), "provider_installation { direct {} }\n").unwrap();
    assert_eq!(run("rc"), "");
}

#[test]
fn flags_are_true_or_false_in_words_too() {
    let folder = folder("locals {}\n");
    let at = folder.path();
    let told = done(
        at,
        &[
            "plan",
            "-refresh-only=true",
            "-json=false",
            "-no-color=true",
            "-no-color",
        ],
    );
    assert!(!told.starts_with('{'), "{told}");
    assert!(done(at, &["validate", "-json=true"]).starts_with('{'));
    assert!(refused(at, &["apply", "-auto-approve=perhaps"]).contains("--auto-approve=perhaps"));
}

#[test]
fn a_machine_that_cannot_be_reached_is_refused_before_anything_is_made() {
    let folder = folder(
        "resource \"terraform_data\" \"a\" {\n  connection {\n    host = \"h\"\n    type = \"winrm\"\n  }\n  provisioner \"remote-exec\" {\n    \
         inline = [\"x\"]\n  }\n}\n",
    );
    let at = folder.path();
    for command in [&["plan"][..], &["apply", "-auto-approve"], &["validate"]] {
        let output = ashlar(at, command);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(
            told.contains("Unsupported connection")
                && told.contains("on main.tf line 4")
                && told.contains("winrm"),
            "{command:?}: {told}"
        );
    }
    assert!(!at.join("terraform.tfstate").exists());
}
