//! Providers come from where the CLI configuration says, and their checksums are settled.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

#[path = "../../sources/tests/sources/server.rs"]
#[allow(dead_code, reason = "the tests of sources use the rest")]
mod server;
#[path = "../../install/tests/install/site.rs"]
#[allow(dead_code, reason = "the tests of install use the rest")]
mod site;

use site::{World, package, sum};

/// A folder whose configuration needs the provider of a server, and a person's home.
struct Person {
    world: World,
    folder: PathBuf,
    home: PathBuf,
}

impl Person {
    async fn new() -> Self {
        let world = World::new().await;
        let (folder, home) = (world.root.path().join("folder"), world.root.path().join("home"));
        fs::create_dir(&folder).unwrap();
        fs::create_dir(&home).unwrap();
        fs::write(home.join("ca.pem"), &world.authority).unwrap();
        let text = format!(
            "terraform {{\n  required_providers {{\n    kiln = {{\n      source  = \"{}\"\n      version = \">= 1.0\"\n    }}\n  }}\n}}\n",
            world.provider
        );
        fs::write(folder.join("main.tf"), text).unwrap();
        Self { world, folder, home }
    }

    fn run(&self, arguments: &[&str], config: Option<&Path>) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
        for name in [
            "ASHLAR_PLUGIN_MIRROR",
            "TF_WORKSPACE",
            "XDG_CACHE_HOME",
            "XDG_DATA_HOME",
            "TF_CLI_CONFIG_FILE",
        ] {
            command.env_remove(name);
        }
        if let Some(config) = config {
            command.env("TF_CLI_CONFIG_FILE", config);
        }
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("HOME", &self.home)
            .env("SSL_CERT_FILE", self.home.join("ca.pem"))
            .output()
            .unwrap()
    }

    fn config(&self, text: &str) -> PathBuf {
        let path = self.home.join("config.tfrc");
        fs::write(&path, text).unwrap();
        path
    }

    fn lock(&self) -> String {
        fs::read_to_string(self.folder.join(".terraform.lock.hcl")).unwrap_or_default()
    }
}

fn told(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_registry_is_the_default_and_its_signed_checksums_are_settled() {
    let person = Person::new().await;
    // What is installed is no program, so that it is the last thing that goes well.
    let output = person.run(&["plan"], None);
    let errors = told(&output);
    assert!(
        errors.contains("Installing ") && errors.contains("(signed, key ID 7C2288E450E26DAF)"),
        "{errors}"
    );
    let lock = person.lock();
    for zip in [&package("1.1.0")[..], b"other"] {
        assert!(lock.contains(&format!("zh:{}", sum(zip))), "{lock}");
    }
    assert!(
        lock.contains("h1:") && lock.contains("version     = \"1.1.0\""),
        "{lock}"
    );
    // The second time it is there, and nobody is asked.
    let before = person.world.server.asked().len();
    person.run(&["plan"], None);
    assert_eq!(person.world.server.asked().len(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_cli_configuration_says_where_from() {
    let person = Person::new().await;
    let mirror = format!(
        "provider_installation {{\n  network_mirror {{\n    url = \"{}\"\n  }}\n}}\n",
        person.world.mirror()
    );
    let config = person.config(&mirror);
    let errors = told(&person.run(&["plan"], Some(&config)));
    assert!(
        errors.contains("from the provider mirror at https://localhost:"),
        "{errors}"
    );
    assert!(
        !person.lock().contains(&sum(b"other")),
        "a mirror does not vouch for others"
    );
    let elsewhere = person.config("provider_installation {\n  direct {\n    exclude = [\"*/*/*\"]\n  }\n}\n");
    fs::remove_file(person.folder.join(".terraform.lock.hcl")).unwrap();
    let output = person.run(&["plan"], Some(&elsewhere));
    assert_eq!(output.status.code(), Some(1));
    assert!(
        told(&output).contains("Failed to query available provider packages"),
        "{}",
        told(&output)
    );
    let broken = person.config("provider_installation {\n  registry {}\n}\n");
    let errors = told(&person.run(&["plan"], Some(&broken)));
    assert!(
        errors.contains("Unknown provider installation method \"registry\""),
        "{errors}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn packages_are_laid_out_as_a_mirror() {
    let person = Person::new().await;
    let output = person.run(&["providers", "mirror", "mirror"], None);
    assert!(output.status.success(), "{}", told(&output));
    let place = person
        .folder
        .join("mirror")
        .join(person.world.provider.to_string());
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(place.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("index.json"), serde_json::json!({"versions": {"1.1.0": {}}}));
    let here = ashlar_install::Platform::here().to_string();
    let archives = read("1.1.0.json");
    let archive = &archives["archives"][&here];
    let zip = archive["url"].as_str().unwrap();
    assert_eq!(fs::read(place.join(zip)).unwrap(), package("1.1.0"));
    // The folder serves, too, and its package has the hash that the index tells.
    let locked = person.run(&["providers", "lock", "--fs-mirror", "mirror"], None);
    assert!(locked.status.success(), "{}", told(&locked));
    assert!(
        person.lock().contains(archive["hashes"][0].as_str().unwrap()),
        "{}",
        person.lock()
    );
    let wrong = person.run(
        &["providers", "mirror", "--platform", "plan9_mips", "mirror"],
        None,
    );
    assert_eq!(wrong.status.code(), Some(1));
    assert!(told(&wrong).contains("for plan9_mips"), "{}", told(&wrong));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn checksums_are_settled_for_other_platforms_and_what_differs_is_refused() {
    let person = Person::new().await;
    let output = person.run(&["providers", "lock"], None);
    assert!(output.status.success(), "{}", told(&output));
    assert!(
        told(&output).contains("it is new in the lock file"),
        "{}",
        told(&output)
    );
    let lock = person.lock();
    assert!(lock.contains(&format!("zh:{}", sum(b"other"))), "{lock}");
    let again = person.run(&["providers", "lock"], None);
    assert!(String::from_utf8_lossy(&again.stdout).contains("did not need changing"));
    let other = person.run(&["providers", "lock", "-platform=plan9_mips"], None);
    assert!(told(&other).contains("for plan9_mips"), "{}", told(&other));
    // Another package by the same name, as a mirror may have it.
    let own = sum(&package("1.1.0"));
    let changed: String = lock
        .lines()
        .filter(|line| !line.contains("h1:"))
        .map(|line| line.replace(&own, &sum(b"another")) + "\n")
        .collect();
    fs::write(person.folder.join(".terraform.lock.hcl"), changed).unwrap();
    let refused = told(&person.run(&["plan"], None));
    let words = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.contains("none of the checksums that .terraform.lock.hcl settles"),
        "{refused}"
    );
}
