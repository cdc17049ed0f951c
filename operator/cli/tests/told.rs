//! What a run tells while it goes on, in Terraform's words.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{path::Path, process::Command};

/// Runs a command that succeeds; gives what it printed as results and what it told.
fn done(folder: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(arguments)
        .current_dir(folder)
        .env_remove("TF_WORKSPACE")
        .env_remove("TF_CLI_CONFIG_FILE")
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (printed, told) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{arguments:?}: {printed}{told}");
    (printed, told)
}

fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.tf"), text).unwrap();
    folder
}

fn id(folder: &Path) -> String {
    let state = std::fs::read(folder.join("terraform.tfstate")).unwrap();
    let state: serde_json::Value = serde_json::from_slice(&state).unwrap();
    let id = &state["resources"][0]["instances"][0]["attributes"]["id"];
    id.as_str().unwrap().to_owned()
}

#[test]
fn objects_are_told_by_their_ids_and_a_creation_ends_behind_its_provisioners() {
    let folder = folder(
        "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n    command = \"echo here\"\n    quiet   = true\n  }\n}\n",
    );
    let at = folder.path();
    let (_, told) = done(at, &["apply", "-auto-approve"]);
    let id = id(at);
    assert_eq!(
        told,
        format!(
            "terraform_data.a: Creating...\nterraform_data.a: Provisioning with 'local-exec'...\nterraform_data.a (local-exec): \
             local-exec: Executing: Suppressed by quiet=true\nterraform_data.a (local-exec): here\nterraform_data.a: Creation \
             complete after 0s [id={id}]\n"
        )
    );
    let (printed, told) = done(at, &["destroy", "-auto-approve"]);
    assert_eq!(
        told,
        format!(
            "terraform_data.a: Refreshing state... [id={id}]\nterraform_data.a: Destroying... [id={id}]\nterraform_data.a: Destruction \
             complete after 0s\n"
        )
    );
    assert!(
        printed.ends_with("\nDestroy complete! Resources: 1 destroyed.\n"),
        "{printed}"
    );
}

#[test]
fn an_import_is_planned_with_all_attributes_and_counted() {
    let folder =
        folder("import {\n  to = terraform_data.a\n  id = \"x\"\n}\nresource \"terraform_data\" \"a\" {}\n");
    let (printed, told) = done(folder.path(), &["apply", "-auto-approve"]);
    assert_eq!(
        told,
        "terraform_data.a: Preparing import... [id=x]\nterraform_data.a: Refreshing state... [id=x]\nterraform_data.a: Importing... \
         [id=x]\nterraform_data.a: Import complete [id=x]\n"
    );
    assert!(
        printed.contains(
            "\n  # terraform_data.a will be imported\n  # (imported from \"x\")\n    resource \"terraform_data\" \"a\" {\n        id = \
             \"x\"\n    }\n\nPlan: 1 to import, 0 to add, 0 to change, 0 to destroy.\n"
        ),
        "{printed}"
    );
    assert!(
        printed.ends_with("\nApply complete! Resources: 1 imported, 0 added, 0 changed, 0 destroyed.\n"),
        "{printed}"
    );
}

#[test]
fn of_a_replacement_the_old_object_is_told_as_deposed() {
    let text = |input: &str| {
        format!(
            "resource \"terraform_data\" \"a\" {{\n  triggers_replace = \"{input}\"\n  lifecycle {{\n    create_before_destroy = true\n  \
             }}\n}}\n"
        )
    };
    let folder = folder(&text("one"));
    let at = folder.path();
    done(at, &["apply", "-auto-approve"]);
    let old = id(at);
    std::fs::write(at.join("main.tf"), text("two")).unwrap();
    let (_, told) = done(at, &["apply", "-auto-approve"]);
    let new = id(at);
    assert!(
        told.contains(&format!(
            "terraform_data.a: Creation complete after 0s [id={new}]\n"
        )),
        "{told}"
    );
    let deposed = told.lines().find(|line| line.contains("deposed object")).unwrap();
    assert!(
        deposed.starts_with("terraform_data.a (deposed object ")
            && deposed.ends_with(&format!("): Destroying... [id={old}]")),
        "{told}"
    );
}
