//! Runs that are limited, and what can be switched off: with the provider that every release holds, as OpenTofu was seen to do it.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use serde_json::Value;

/// A folder with a configuration.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("m")).unwrap();
        fs::write(folder.path().join("main.tf"), text).unwrap();
        fs::write(folder.path().join("m/main.tf"), CALLED).unwrap();
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs the program, which must end like this, and gives all that it prints.
    fn run(&self, words: &str, success: bool) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
        let mut words = words.split(' ');
        command.args(words.next()).arg("--dir").arg(self.path());
        command.args(words).args(["--dialect", "opentofu", "--no-color"]);
        command.env("XDG_CACHE_HOME", self.path().join("cache"));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(output.status.success(), success, "{text:?}");
        text.concat()
    }

    /// The addresses of all objects, in short.
    fn objects(&self) -> Vec<String> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
        command.args(["state", "list", "--dir"]).arg(self.path());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let mut lines: Vec<String> = text
            .lines()
            .map(|line| line.replace("terraform_data.", "").replace("module.", ""))
            .collect();
        lines.sort();
        lines
    }

    fn state(&self) -> Value {
        let text = fs::read(self.path().join("terraform.tfstate")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

const CALLED: &str = r#"
resource "terraform_data" "x" { input = "x" }
output "x" { value = terraform_data.x.input }
"#;

const SWITCHED: &str = r#"
variable "on" { default = true }
resource "terraform_data" "a" {
  input = "a"
  lifecycle { enabled = var.on }
}
resource "terraform_data" "b" {
  input = terraform_data.a == null ? "none" : terraform_data.a.input
}
module "m" {
  source = "./m"
  lifecycle { enabled = var.on }
}
output "try" { value = try(terraform_data.a.output, "no") }
output "m" { value = module.m }
output "id" { value = try(module.m.x, "off") }
"#;

#[test]
fn what_is_switched_off_is_destroyed_and_null() {
    let folder = Folder::new(SWITCHED);
    folder.run("apply --auto-approve", true);
    assert_eq!(folder.objects(), ["a", "b", "m.x"]);
    assert_eq!(folder.state()["outputs"]["id"]["value"], "x");

    let told = folder.run("apply --auto-approve --var on=false", true);
    assert!(told.contains("because enabled is false"), "{told}");
    assert!(told.contains("0 added, 1 changed, 2 destroyed"), "{told}");
    assert_eq!(folder.objects(), ["b"]);
    let state = folder.state();
    let outputs = &state["outputs"];
    assert_eq!(outputs["try"]["value"], "no");
    assert_eq!(outputs["id"]["value"], "off");
    assert_eq!(outputs["m"], Value::Null);
    let dependencies = &state["resources"][0]["instances"][0]["dependencies"];
    assert_eq!(*dependencies, serde_json::json!(["terraform_data.a"]));

    let told = folder.run("apply --auto-approve --var on=null", false);
    assert!(told.contains("Invalid enabled argument"), "{told}");
}

const LIMITED: &str = r#"
resource "terraform_data" "a" {
  count = 2
  input = "a${count.index}"
}
resource "terraform_data" "b" { input = terraform_data.a[0].id }
resource "terraform_data" "c" { input = "c" }
module "m" {
  source = "./m"
  count  = 2
}
resource "terraform_data" "d" { input = module.m[0].x }
"#;

#[test]
fn what_is_excluded_is_left_out_with_what_needs_it() {
    let folder = Folder::new(LIMITED);
    let told = folder.run(
        "apply --auto-approve -exclude=terraform_data.a[1] -exclude=module.m",
        true,
    );
    assert!(told.contains("Resource targeting is in effect"), "{told}");
    assert!(told.contains("Applied changes may be incomplete"), "{told}");
    assert_eq!(folder.objects(), ["a[0]", "c"]);

    folder.run("apply --auto-approve -target=terraform_data.d", true);
    assert_eq!(folder.objects(), ["a[0]", "c", "d", "m[0].x", "m[1].x"]);

    // What is destroyed goes with its users; what is excluded keeps what it needs.
    folder.run("apply --auto-approve", true);
    folder.run("destroy --auto-approve -exclude=terraform_data.b", true);
    assert_eq!(folder.objects(), ["a[0]", "a[1]", "b"]);
    folder.run("destroy --auto-approve -target=terraform_data.a[1]", true);
    assert_eq!(folder.objects(), ["a[0]"]);
    folder.run("plan -target=terraform_data.a -exclude=terraform_data.b", false);
}
