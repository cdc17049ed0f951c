//! Provider configurations that are repeated, as OpenTofu has them: with the provider that every release holds.

#![allow(clippy::unwrap_used)]

use std::{fs, path::Path, process::Command};

use serde_json::Value;

const CONFIGURED: &str = r#"
variable "regions" {
  type    = list(string)
  default = ["eu", "us"]
}
variable "wanted" {
  type    = list(string)
  default = ["eu", "us"]
}
provider "terraform" {
  alias    = "by"
  for_each = toset(var.regions)
}
resource "terraform_data" "a" {
  for_each = toset(var.wanted)
  provider = terraform.by[each.key]
  input    = each.value
}
module "m" {
  source    = "./m"
  for_each  = { for region in var.wanted : "in-${region}" => region }
  providers = { terraform = terraform.by[each.value] }
}
"#;

const CALLED: &str = r#"
terraform {
  required_providers {
    terraform = { source = "terraform.io/builtin/terraform" }
  }
}
resource "terraform_data" "x" { count = 2 }
"#;

/// A folder with a configuration.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new(text: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join("m")).unwrap();
        fs::write(folder.path().join("m/main.tf"), CALLED).unwrap();
        folder.write(text);
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, text: &str) {
        fs::write(self.path().join("main.tf"), text).unwrap();
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

    /// Of each object in state the last key of its address, and the key of its provider configuration.
    fn held(&self) -> Vec<String> {
        let text = fs::read(self.path().join("terraform.tfstate")).unwrap();
        let state: Value = serde_json::from_slice(&text).unwrap();
        let mut held = Vec::new();
        for resource in state["resources"].as_array().unwrap() {
            for instance in resource["instances"].as_array().unwrap() {
                let (whole, own) = (&resource["provider"], &instance["provider"]);
                // Where the instances say it, the resource does not.
                assert!(whole.is_null() != own.is_null(), "{resource}");
                let provider = own.as_str().or(whole.as_str()).unwrap();
                let provider = provider.replace("provider[\"terraform.io/builtin/terraform\"]", "");
                let module = resource["module"].as_str().unwrap_or_default();
                let key = instance["index_key"].to_string();
                held.push(format!("{module}[{key}] {provider}").replace('"', ""));
            }
        }
        held.sort();
        held
    }
}

const BOTH: [&str; 6] = [
    "[eu] .by[eu]",
    "[us] .by[us]",
    "module.m[in-eu][0] .by[eu]",
    "module.m[in-eu][1] .by[eu]",
    "module.m[in-us][0] .by[us]",
    "module.m[in-us][1] .by[us]",
];

#[test]
fn each_object_is_managed_with_the_one_that_its_key_names() {
    let folder = Folder::new(CONFIGURED);
    folder.run("apply --auto-approve", true);
    assert_eq!(folder.held(), BOTH);
    let told = folder.run("plan", true);
    assert!(told.contains("No changes"), "{told}");

    // What goes is destroyed with the one that made it, as long as that is there.
    let told = folder.run("plan --var wanted=[\"eu\"] --var regions=[\"eu\"]", false);
    assert_eq!(told.matches("Provider instance not present").count(), 3, "{told}");
    let told = folder.run("apply --auto-approve --var wanted=[\"eu\"]", true);
    assert!(told.contains("0 added, 0 changed, 3 destroyed"), "{told}");
    assert_eq!(
        folder.held(),
        [
            "[eu] .by[eu]",
            "module.m[in-eu][0] .by[eu]",
            "module.m[in-eu][1] .by[eu]"
        ]
    );
    folder.run(
        "apply --auto-approve --var wanted=[\"eu\"] --var regions=[\"eu\"]",
        true,
    );

    // Nothing can be planned with one that is not there, nor destroyed.
    let told = folder.run("plan --var wanted=[\"eu\"] --var regions=[\"us\"]", false);
    assert!(told.contains("Provider instance not present"), "{told}");
    folder.run(
        "destroy --auto-approve --var wanted=[\"eu\"] --var regions=[\"eu\"]",
        true,
    );
    assert_eq!(folder.held(), Vec::<String>::new());
}

#[test]
fn objects_of_a_resource_that_is_gone_need_the_one_that_made_them() {
    let folder = Folder::new(CONFIGURED);
    folder.run("apply --auto-approve", true);
    let (alone, _) = CONFIGURED.split_once("resource ").unwrap();
    folder.write(alone);
    let told = folder.run("plan --var regions=[\"eu\"]", false);
    assert_eq!(told.matches("Provider instance not present").count(), 3, "{told}");
    folder.write(&alone.replace("  for_each = toset(var.regions)\n", ""));
    let told = folder.run("plan", false);
    assert!(told.contains("Provider instance not present"), "{told}");
    folder.write(alone);
    let told = folder.run("apply --auto-approve", true);
    assert!(told.contains("6 destroyed"), "{told}");
}

#[test]
fn a_key_that_cannot_be_read_is_told_at_its_place() {
    let check = |key: &str, summary: &str, word: &str| {
        let text = CONFIGURED.replace("terraform.by[each.key]", &format!("terraform.by[{key}]"));
        let more = "resource \"terraform_data\" \"k\" {}\n";
        let told = Folder::new(&(text + more)).run("plan", false);
        // Lines are broken anywhere.
        let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(summary) && flat.contains(word), "{key}: {told}");
    };
    let invalid = "Invalid provider instance key";
    check("terraform_data.k.id", invalid, "known only after apply");
    check("sensitive(each.key)", invalid, "sensitive");
    check("null", invalid, "null");
    check("[each.key]", invalid, "unsuitable");
    check("\"asia\"", "Provider instance not present", "asia");
    let named = "one of several is named";
    let text = CONFIGURED.replace("terraform.by[each.key]", "terraform.by");
    let told = Folder::new(&text).run("plan", false);
    let flat = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(named), "{told}");
}
