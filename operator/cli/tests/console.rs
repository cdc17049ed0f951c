//! `ashlar console` from a pipe, over a configuration and a state.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

const MODULE: &str = r#"
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
variable "given" {
  default = "x"
}
variable "missing" {}
locals {
  list = [1, var.given]
}
resource "terraform_data" "one" {
  input = "planned"
}
"#;

const STATE: &str = r#"{
  "version": 4, "terraform_version": "1.15.5", "serial": 1, "lineage": "l", "outputs": {},
  "resources": [{
    "mode": "managed", "type": "terraform_data", "name": "one",
    "provider": "provider[\"terraform.io/builtin/terraform\"]",
    "instances": [{
      "schema_version": 0,
      "attributes": {"id": "1", "input": null, "output": {"value": "stored", "type": "string"}, "triggers_replace": null},
      "sensitive_attributes": []
    }]
  }]
}"#;

fn console(folder: &Path, arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ashlar"))
        .args(["console", "--no-color", "--dir"])
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn expressions_are_answered() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("main.tf"), MODULE).unwrap();
    std::fs::write(folder.path().join("terraform.tfstate"), STATE).unwrap();
    let check = |arguments: &[&str], input: &str, expected: Result<&str, &str>| {
        let output = console(folder.path(), arguments, input);
        let printed = String::from_utf8(output.stdout).unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        match expected {
            Ok(text) => {
                assert!(output.status.success(), "{input:?}: {told}");
                assert_eq!(printed, text, "{input:?}");
            }
            Err(summary) => {
                assert!(!output.status.success(), "{input:?}: {printed}");
                assert!(told.contains(summary), "{input:?}: {told}");
            }
        }
    };
    check(&[], "local.list", Ok("[\n  1,\n  \"x\",\n]\n"));
    check(&["--var", "given=y"], "local.list[1]", Ok("\"y\"\n"));
    check(&[], "var.missing", Ok("(known after apply)\n"));
    check(&[], "terraform_data.one.output", Ok("\"stored\"\n"));
    check(
        &[],
        "type(local.list)",
        Ok("tuple([\n    number,\n    string,\n])\n"),
    );
    // The last result counts, and lines go together while brackets are open.
    check(&[], "1\nmax(\n  2,\n  3,\n)\n", Ok("3\n"));
    check(&[], "1\nexit\n2\n", Ok(""));
    check(&[], "timestamp() == null\n", Ok("false\n"));
    check(
        &[],
        "provider::terraform::encode_expr(local.list)",
        Ok("\"[1, \\\"x\\\"]\"\n"),
    );
    check(
        &[],
        "provider::terraform::encode()",
        Err("Unknown provider function"),
    );
    check(&[], "[1][\n\n", Err("on <console-input> line"));
    check(&[], "1 +\n2\n", Err("Missing expression"));
    check(&[], "local.nope", Err("Reference to undeclared local value"));
    // It left nothing behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}
