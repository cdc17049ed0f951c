//! What is done to a state by hand: `state`, `taint`, `untaint` and `workspace`, in a folder.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
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

fn state(folder: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(folder.join("terraform.tfstate")).unwrap()).unwrap()
}

/// A folder whose state has `terraform_data.one`, and `terraform_data.many` twice.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let instance = |id: &str| {
        json!({
            "schema_version": 0, "sensitive_attributes": [],
            "attributes": {"id": id, "input": null, "output": null, "triggers_replace": null},
        })
    };
    let with_key = |id: &str, key: u8| {
        let mut instance = instance(id);
        instance["index_key"] = key.into();
        instance
    };
    let resource = |name: &str, instances: Json| {
        json!({
            "mode": "managed", "type": "terraform_data", "name": name, "instances": instances,
            "provider": "provider[\"terraform.io/builtin/terraform\"]",
        })
    };
    let state = json!({
        "version": 4, "terraform_version": "1.15.5", "serial": 3, "lineage": "l", "outputs": {},
        "resources": [
            resource("one", json!([instance("1")])),
            resource("many", json!([with_key("2", 0), with_key("3", 1)])),
        ],
    });
    std::fs::write(folder.path().join("terraform.tfstate"), state.to_string()).unwrap();
    folder
}

/// The backups that changes by hand leave, beside that of every save.
fn backups(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap();
    names
        .filter(|entry| {
            let name = entry.as_ref().unwrap().file_name().into_string().unwrap();
            name.starts_with("terraform.tfstate.") && name.ends_with(".backup")
        })
        .count()
}

#[test]
fn objects_are_marked_moved_and_forgotten() {
    let folder = folder();
    let at = folder.path();
    assert_eq!(
        done(at, &["state", "list"]),
        "terraform_data.many[0]\nterraform_data.many[1]\nterraform_data.one\n"
    );
    assert_eq!(done(at, &["state", "list", "-id=3"]), "terraform_data.many[1]\n");
    assert_eq!(
        done(at, &["state", "list", "terraform_data.one"]),
        "terraform_data.one\n"
    );
    assert!(refused(at, &["state", "list", "terraform_data.none"]).contains("Unknown resource"));

    assert_eq!(
        done(at, &["taint", "terraform_data.one"]),
        "Resource instance terraform_data.one has been marked as tainted.\n"
    );
    assert_eq!(state(at)["resources"][1]["instances"][0]["status"], "tainted");
    assert_eq!(state(at)["serial"], 4);
    assert_eq!(state(at)["lineage"], "l");
    assert_eq!(backups(at), 1);
    // What is so already is not written again.
    done(at, &["taint", "terraform_data.one"]);
    assert_eq!(state(at)["serial"], 4);
    done(at, &["untaint", "terraform_data.one"]);
    assert!(refused(at, &["untaint", "terraform_data.one"]).contains("Resource instance is not tainted"));
    assert!(refused(at, &["taint", "terraform_data.none"]).contains("No such resource instance"));
    done(at, &["taint", "-allow-missing", "terraform_data.none"]);

    let moved = ["state", "mv", "terraform_data.one", "module.m.terraform_data.one"];
    done(at, &[&moved[..], &["-dry-run"]].concat());
    assert_eq!(state(at)["serial"], 5);
    let told = done(at, &moved);
    assert_eq!(
        told,
        "Move \"terraform_data.one\" to \"module.m.terraform_data.one\"\nSuccessfully moved 1 object(s).\n"
    );
    assert_eq!(
        done(at, &["state", "list", "module.m"]),
        "module.m.terraform_data.one\n"
    );
    assert!(refused(at, &moved).contains("Invalid source address"));
    let told = done(at, &["state", "rm", "terraform_data.many"]);
    assert_eq!(
        told,
        "Removed terraform_data.many[0]\nRemoved terraform_data.many[1]\nSuccessfully removed 2 resource instance(s).\n"
    );
    assert!(refused(at, &["state", "rm", "terraform_data.many"]).contains("Invalid target address"));
    assert_eq!(done(at, &["state", "list"]), "module.m.terraform_data.one\n");
    assert_eq!(state(at)["serial"], 7);
}

#[test]
fn a_state_is_replaced_only_by_one_that_follows_it() {
    let folder = folder();
    let at = folder.path();
    let with = |change: fn(&mut Json)| {
        let mut other = state(at);
        change(&mut other);
        std::fs::write(at.join("other"), other.to_string()).unwrap();
    };
    with(|state| state["serial"] = 2.into());
    assert!(refused(at, &["state", "push", "other"]).contains("serial 2"));
    with(|state| state["lineage"] = "m".into());
    assert!(refused(at, &["state", "push", "other"]).contains("unrelated"));
    with(|state| {
        state["serial"] = 9.into();
        state["resources"] = json!([]);
    });
    done(at, &["state", "push", "other"]);
    assert_eq!(state(at)["serial"], 9);
    with(|state| state["serial"] = 1.into());
    done(at, &["state", "push", "-force", "other"]);
    assert_eq!(state(at)["serial"], 1);
}

#[test]
fn a_provider_is_replaced_once_it_is_approved() {
    let folder = folder();
    let at = folder.path();
    let command = [
        "state",
        "replace-provider",
        "terraform.io/builtin/terraform",
        "x/y",
    ];
    assert!(refused(at, &command).contains("Nobody can be asked"));
    assert_eq!(state(at)["serial"], 3);
    let told = done(at, &[&command[..], &["-auto-approve"]].concat());
    assert!(
        told.ends_with("Successfully replaced provider for 2 resources.\n"),
        "{told}"
    );
    assert_eq!(
        state(at)["resources"][0]["provider"],
        "provider[\"registry.terraform.io/x/y\"]"
    );
    assert_eq!(
        done(at, &[&command[..], &["-auto-approve"]].concat()),
        "No matching resources found.\n"
    );
}

#[test]
fn each_workspace_has_a_state_of_its_own() {
    let folder = folder();
    let at = folder.path();
    std::fs::write(
        at.join("main.tf"),
        "resource \"terraform_data\" \"a\" { input = terraform.workspace }\n",
    )
    .unwrap();
    assert_eq!(done(at, &["workspace", "list"]), "* default\n");
    assert!(
        done(at, &["workspace", "new", "blue"]).starts_with("Created and switched to workspace \"blue\"!")
    );
    assert!(refused(at, &["workspace", "new", "blue"]).contains("Workspace \"blue\" already exists"));
    assert!(refused(at, &["workspace", "new", "a/b"]).contains("No workspace can be called"));
    assert_eq!(done(at, &["workspace", "show"]), "blue\n");
    assert_eq!(done(at, &["workspace", "list"]), "  default\n* blue\n");
    done(at, &["apply", "-auto-approve"]);
    let blue = std::fs::read(at.join("terraform.tfstate.d/blue/terraform.tfstate")).unwrap();
    let blue: Json = serde_json::from_slice(&blue).unwrap();
    assert_eq!(
        blue["resources"][0]["instances"][0]["attributes"]["input"]["value"],
        "blue"
    );
    assert_eq!(done(at, &["state", "list"]), "terraform_data.a\n");
    assert_eq!(state(at)["serial"], 3);
    assert!(refused(at, &["workspace", "delete", "blue"]).contains("active workspace"));
    done(at, &["workspace", "select", "default"]);
    assert!(refused(at, &["workspace", "select", "red"]).contains("doesn't exist"));
    assert!(refused(at, &["workspace", "delete", "blue"]).contains("Workspace is not empty"));
    done(at, &["workspace", "delete", "-force", "blue"]);
    assert!(!at.join("terraform.tfstate.d/blue").exists());
    assert!(refused(at, &["workspace", "delete", "default"]).contains("active workspace"));
    done(at, &["workspace", "select", "-or-create", "red"]);
    assert!(refused(at, &["workspace", "delete", "default"]).contains("cannot be deleted"));
    std::fs::copy(at.join("terraform.tfstate"), at.join("old")).unwrap();
    done(at, &["workspace", "new", "-state=old", "green"]);
    assert_eq!(
        done(at, &["state", "list", "terraform_data.one"]),
        "terraform_data.one\n"
    );
}

#[test]
fn an_uncertain_change_is_settled_where_nothing_is_planned() {
    use ashlar_port::{Intent, Record, RunStore, Subject};
    use ashlar_store::file::FileStore;

    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("main.tf"), "resource \"terraform_data\" \"a\" {}\n").unwrap();
    done(at, &["apply", "-auto-approve"]);
    let intent = Record::Intent(Intent {
        subject: Subject::Object("terraform_data.a".parse().unwrap(), None),
        action: "update".to_owned(),
    });
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (store, _) = FileStore::open(at, "test").await.unwrap();
        store.journal(vec![intent]).await.unwrap();
    });
    // Approving whatever is planned settles nothing.
    let told = String::from_utf8(ashlar(at, &["apply", "-auto-approve"]).stderr).unwrap();
    assert!(told.contains("Nothing is planned, but"), "{told}");
    assert!(refused(at, &["apply"]).contains("Nobody can be asked here"));
    let planned = done(at, &["plan", "-detailed-exitcode"]);
    let digest = planned
        .lines()
        .find_map(|line| line.strip_prefix("Digest: "))
        .unwrap();
    let before = state(at);
    assert!(done(at, &["apply", "-approve", digest]).ends_with("as the refresh found them.\n"));
    let after = state(at);
    assert_eq!(
        after["serial"].as_u64().unwrap(),
        before["serial"].as_u64().unwrap() + 1
    );
    assert_eq!(after["resources"], before["resources"]);
    assert!(!at.join(".ashlar/journal.jsonl").exists());
    // The approval is spent, and nothing is left to be settled.
    let told = String::from_utf8(ashlar(at, &["apply", "-approve", digest]).stderr).unwrap();
    assert!(!told.contains("Nothing is planned"), "{told}");
}

#[test]
fn states_lie_where_the_local_backend_says() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let module = "resource \"terraform_data\" \"a\" {}\n";
    let backend = "terraform {\n  backend \"local\" {\n    path          = \"states/one.json\"\n    workspace_dir = \"others\"\n  }\n}\n";
    std::fs::write(at.join("main.tf"), module).unwrap();
    std::fs::create_dir(at.join("states")).unwrap();
    done(at, &["apply", "-auto-approve"]);
    std::fs::write(at.join("main.tf"), format!("{backend}{module}")).unwrap();
    // What is known so far must not be planned anew.
    let told = refused(at, &["plan"]);
    assert!(
        told.contains("states/one.json") && told.contains("Move it there"),
        "{told}"
    );
    std::fs::rename(at.join("terraform.tfstate"), at.join("states/one.json")).unwrap();
    let output = ashlar(at, &["plan", "-detailed-exitcode"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !told.contains("Unused backend block"),
        "{told}"
    );
    let checked = ashlar(at, &["validate"]);
    assert!(!String::from_utf8_lossy(&checked.stderr).contains("Unused"));
    assert_eq!(done(at, &["state", "list"]), "terraform_data.a\n");
    done(at, &["taint", "terraform_data.a"]);
    assert!(done(at, &["show"]).contains("(tainted)"));
    assert!(!at.join("terraform.tfstate").exists());
    assert!(!at.join("states/.one.json.lock.info").exists());
    done(at, &["workspace", "new", "blue"]);
    done(at, &["apply", "-auto-approve"]);
    assert!(at.join("others/blue/terraform.tfstate").exists());
    assert_eq!(done(at, &["workspace", "list"]), "  default\n* blue\n");
}

#[test]
fn a_state_that_is_kept_elsewhere_is_not_begun_anew() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let module = "resource \"terraform_data\" \"a\" {}\noutput \"o\" {\n  value = 1\n}\n";
    std::fs::write(at.join("main.tf"), module).unwrap();
    let blocks = [
        "terraform {\n  backend \"s3\" {\n    bucket = \"b\"\n  }\n}\n",
        "terraform {\n  cloud {\n    organization = \"o\"\n  }\n}\n",
        "terraform {\n  backend \"http\" {}\n}\n",
    ];
    let commands: [&[&str]; 16] = [
        &["plan"],
        &["apply", "-auto-approve"],
        &["destroy", "-auto-approve"],
        &["refresh"],
        &["import", "terraform_data.a", "x"],
        &["show"],
        &["output"],
        &["console"],
        &["providers"],
        &["state", "list"],
        &["state", "show", "terraform_data.a"],
        &["state", "pull"],
        &["state", "rm", "terraform_data.a"],
        &["taint", "terraform_data.a"],
        &["workspace", "list"],
        &["workspace", "new", "blue"],
    ];
    for block in blocks {
        std::fs::write(at.join("backend.tf"), block).unwrap();
        for command in commands {
            let told = refused(at, command);
            assert!(
                told.contains("Error: State is kept elsewhere") && told.contains("on backend.tf line 2"),
                "{command:?}: {told}"
            );
            assert!(
                told.contains("terraform state pull > terraform.tfstate")
                    && told.contains("--ignore-backend"),
                "{command:?}: {told}"
            );
        }
        assert!(!at.join("terraform.tfstate").exists() && !at.join("terraform.tfstate.d").exists());
        // What needs no state is not held up.
        assert!(done(at, &["validate"]).contains("is valid"));
        done(at, &["graph"]);
    }
    // In a workspace its own file is named.
    std::fs::create_dir(at.join(".terraform")).unwrap();
    std::fs::write(at.join(".terraform/environment"), "blue").unwrap();
    assert!(refused(at, &["plan"]).contains("> terraform.tfstate.d/blue/terraform.tfstate"));
    std::fs::remove_file(at.join(".terraform/environment")).unwrap();
    // The person brought the state over, and says so.
    let state = json!({
        "version": 4, "terraform_version": "1.15.5", "serial": 3, "lineage": "l", "outputs": {},
        "resources": [{
            "mode": "managed", "type": "terraform_data", "name": "a",
            "provider": "provider[\"terraform.io/builtin/terraform\"]",
            "instances": [{
                "schema_version": 0, "sensitive_attributes": [],
                "attributes": {"id": "1", "input": null, "output": null, "triggers_replace": null},
            }],
        }],
    });
    std::fs::write(at.join("terraform.tfstate"), state.to_string()).unwrap();
    let output = ashlar(at, &["apply", "-auto-approve", "-ignore-backend"]);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && !told.contains("Unused backend"),
        "{told}"
    );
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.contains("0 added, 0 changed, 0 destroyed"), "{printed}");
    assert_eq!(done(at, &["output", "--ignore-backend=true", "o"]), "1\n");
    assert!(refused(at, &["output", "--ignore-backend=false"]).contains("State is kept elsewhere"));
    let output = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(["state", "list"])
        .current_dir(at)
        .env("ASHLAR_IGNORE_BACKEND", "1")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "terraform_data.a\n");
    // An override has the last word, as with Terraform.
    std::fs::write(
        at.join("backend_override.tf"),
        "terraform {\n  backend \"local\" {}\n}\n",
    )
    .unwrap();
    assert_eq!(done(at, &["state", "list"]), "terraform_data.a\n");
}

#[test]
fn what_is_left_of_a_configuration_that_is_gone_is_destroyed() {
    let folder = folder();
    let at = folder.path();
    for command in [&["plan"][..], &["apply", "-auto-approve"]] {
        let told = refused(at, command);
        assert!(
            told.contains("Error: No configuration files") && told.contains("ashlar destroy"),
            "{told}"
        );
    }
    assert!(refused(at, &["import", "terraform_data.x", "x"]).contains("holds no configuration"));
    assert!(refused(at, &["apply", "-refresh-only"]).contains("No configuration files"));
    done(at, &["refresh"]);
    assert!(done(at, &["plan", "-destroy"]).contains("3 to destroy"));
    let printed = done(at, &["destroy", "-auto-approve"]);
    assert!(
        printed.contains("Destroy complete! Resources: 3 destroyed."),
        "{printed}"
    );
    assert_eq!(state(at)["resources"], json!([]));
}
