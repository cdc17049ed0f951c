//! The state is Terraform's own: real Terraform takes it over, and Ashlar takes over from real Terraform.

use std::fs;

use anyhow::{Result, bail};
use ashlar_e2e::{Bench, Namespace, Operator, reason};
use serde_json::{Value, json};

const MODULE: &str = r#"
terraform {
  required_providers {
    random = { source = "hashicorp/random" }
    tls    = { source = "hashicorp/tls" }
    time   = { source = "hashicorp/time" }
  }
}
variable "rooms" {
  type    = set(string)
  default = ["hall", "study"]
}
resource "random_pet" "room" {
  for_each = var.rooms
  prefix   = each.key
}
resource "random_password" "door" {
  count  = 2
  length = 20
}
resource "tls_private_key" "door" {
  algorithm = "ED25519"
}
resource "time_static" "opened" {
  triggers = { rooms = join(",", var.rooms) }
}
resource "terraform_data" "all" {
  input            = { for name, pet in random_pet.room : name => pet.id }
  triggers_replace = [time_static.opened.id]
  lifecycle {
    create_before_destroy = true
  }
}
output "rooms" {
  value = terraform_data.all.output
}
output "doors" {
  value     = random_password.door[*].result
  sensitive = true
}
"#;

/// Runs real Terraform in a folder with the module and a state in the namespace.
struct Terraform<'a> {
    namespace: &'a Namespace,
    folder: tempfile::TempDir,
}

impl<'a> Terraform<'a> {
    fn new(namespace: &'a Namespace, suffix: &str) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join("main.tf"), MODULE)?;
        let backend = format!(
            "terraform {{\n  backend \"kubernetes\" {{\n    secret_suffix = \"{suffix}\"\n    namespace     = \"{}\"\n  }}\n}}\n",
            namespace.name
        );
        fs::write(folder.path().join("backend.tf"), backend)?;
        let terraform = Self { namespace, folder };
        terraform.run(&["init"])?;
        Ok(terraform)
    }

    fn run(&self, arguments: &[&str]) -> Result<String> {
        let mut command = self.namespace.bench.terraform();
        let output = command
            .args(arguments)
            .arg("-no-color")
            .env("TF_INPUT", "0")
            .current_dir(self.folder.path())
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            bail!(
                "terraform {} ended with {}:\n{text}\n{error}",
                arguments.join(" "),
                output.status
            );
        }
        Ok(text)
    }
}

fn workspace(suffix: &str) -> String {
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": suffix},
        "spec": {"source": {"inline": {"files": {"main.tf": MODULE}}}, "state": {"secretSuffix": suffix}},
    })
    .to_string()
}

#[test]
fn terraform_takes_over_what_ashlar_made() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "handover")?;
    let operator = Operator::start(&namespace, &[])?;
    namespace.apply(&workspace("ours"))?;
    let digest = namespace.pending("ours", "")?;
    namespace.approve("ours", &digest)?;
    let made = namespace.wait_for("ours", "Ready", "True")?;
    assert!(operator.stop()?.success());

    let terraform = Terraform::new(&namespace, "ours")?;
    // 2 would mean changes.
    let plan = terraform.run(&["plan", "-detailed-exitcode"])?;
    assert!(plan.contains("No changes."), "{plan}");
    let outputs: Value = serde_json::from_str(&terraform.run(&["output", "-json"])?)?;
    let told = made["status"]["outputs"].as_array().into_iter().flatten();
    let told = told
        .filter(|output| output["name"] == "rooms")
        .find_map(|output| output["value"].as_str());
    assert_eq!(outputs["rooms"]["value"].to_string(), told.unwrap_or_default());
    assert_eq!(outputs["doors"]["sensitive"], true);
    // It changes what it finds, and Ashlar goes on from there.
    terraform.run(&["apply", "-auto-approve", "-replace=random_pet.room[\"hall\"]"])?;
    let _operator = Operator::start(&namespace, &[])?;
    namespace.wait("ours", "the changed state is planned anew", |workspace| {
        let serial = workspace["status"]["state"]["serial"].as_i64();
        let later = serial > made["status"]["state"]["serial"].as_i64();
        (later && reason(workspace, "Ready").as_deref() == Some("NoChanges")).then_some(())
    })
}

#[test]
fn ashlar_takes_over_what_terraform_made() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "takeover")?;
    let terraform = Terraform::new(&namespace, "theirs")?;
    terraform.run(&["apply", "-auto-approve"])?;
    let outputs: Value = serde_json::from_str(&terraform.run(&["output", "-json"])?)?;
    let state = namespace.get("secret", "tfstate-default-theirs")?;

    let _operator = Operator::start(&namespace, &[])?;
    namespace.apply(&workspace("theirs"))?;
    let workspace = namespace.wait_for("theirs", "Ready", "True")?;
    assert_eq!(reason(&workspace, "Ready").as_deref(), Some("NoChanges"));
    assert_eq!(workspace["status"]["plan"]["summary"]["text"], "+0 ~0 -0");
    assert_eq!(workspace["status"]["state"]["resourceCount"], 7);
    let told = workspace["status"]["outputs"].as_array().into_iter().flatten();
    let told = told
        .filter(|output| output["name"] == "rooms")
        .find_map(|output| output["value"].as_str());
    assert_eq!(outputs["rooms"]["value"].to_string(), told.unwrap_or_default());
    // A look does not write: the state is as Terraform left it, to the byte.
    let data = |state: &Option<Value>| state.as_ref().map(|state| state["data"].clone());
    assert_eq!(
        data(&namespace.get("secret", "tfstate-default-theirs")?),
        data(&state)
    );
    // And Terraform can go on, as if nothing had been.
    let plan = terraform.run(&["plan", "-detailed-exitcode"])?;
    assert!(plan.contains("No changes."), "{plan}");
    Ok(())
}
