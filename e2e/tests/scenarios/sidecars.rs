//! Providers that run beside the operator and are reached by unix socket and by TCP.

use std::{
    net::TcpListener,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use ashlar_e2e::{Bench, Namespace, Operator, Sidecar, World, condition, reason};
use serde_json::{Value, json};
use tempfile::TempDir;

const RANDOM: &str = "registry.terraform.io/hashicorp/random";
const KILN: &str = "forge.test/studio/kiln";

const MODULE: &str = r#"
terraform {
  required_providers {
    kiln   = { source = "forge.test/studio/kiln" }
    random = { source = "hashicorp/random", version = "~> 3.0" }
  }
}
resource "random_id" "suffix" {
  byte_length = 2
}
resource "kiln_pot" "base" {
  name = "base"
}
resource "kiln_pot" "slow" {
  count = var.slow ? 1 : 0
  name  = "slow"
  glaze = kiln_pot.base.id
}
variable "slow" {
  default = false
}
output "suffix" {
  value = random_id.suffix.hex
}
"#;

fn workspace(slow: bool) -> String {
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": "beside"},
        "spec": {
            "source": {"inline": {"files": {"main.tf": MODULE}}},
            "variables": [{"name": "slow", "value": slow}],
            "approval": {"policy": "Auto"},
        },
    })
    .to_string()
}

/// Addresses of two sidecars, and what the operator is told of them.
struct Places {
    _folder: TempDir,
    random: String,
    kiln: String,
}

impl Places {
    fn new() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("s").tempdir_in("/tmp")?;
        let free = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        Ok(Self {
            random: format!("unix:{}", folder.path().join("random").display()),
            kiln: format!("tcp:{free}"),
            _folder: folder,
        })
    }

    fn offered(&self, random_version: &str, kiln_protocol: u8) -> String {
        let entry = |place: &str, protocol: u8, version: &str| -> Value {
            let (network, address) = place.split_once(':').unwrap_or_default();
            json!({"network": network, "address": address, "protocol": protocol, "version": version})
        };
        json!({
            RANDOM: entry(&self.random, 5, random_version),
            KILN: entry(&self.kiln, kiln_protocol, "1.0.0"),
        })
        .to_string()
    }
}

/// What is told of a plan that failed.
fn refused(namespace: &Namespace, wanted: &str) -> Result<()> {
    namespace.wait("beside", wanted, |workspace| {
        workspace["status"].to_string().contains(wanted).then_some(())
    })
}

#[test]
fn providers_beside_the_operator_plan_and_apply_and_nothing_is_made_twice() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "sidecars")?;
    let world = &namespace.world;
    let places = Places::new()?;
    let _random = Sidecar::start(&bench, RANDOM, &places.random, world.path())?;
    let kiln = Sidecar::start(&bench, KILN, &places.kiln, world.path())?;
    let offered = places.offered("3.9.0", 6);
    let _operator = Operator::start(&namespace, &["--sidecars", &offered])?;
    namespace.apply(&workspace(false))?;
    let made = namespace.wait_for("beside", "Ready", "True")?;
    let suffix = made["status"]["outputs"][0]["value"]
        .as_str()
        .context("no output")?
        .to_owned();
    assert_eq!(world.pots()?, ["pot-base-1"]);

    // It dies while it makes a pot, which got through.
    namespace.apply(&workspace(true))?;
    let end = Instant::now() + Duration::from_secs(120);
    while world.count("start", "create", "slow")? == 0 {
        if Instant::now() > end {
            bail!("the slow pot was never begun");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    kiln.kill()?;
    world.put_pot(
        "pot-slow-0",
        &json!({"id": "pot-slow-0", "type": "kiln_pot", "name": "slow", "attributes": {}}),
    )?;
    let uncertain = json!([{"address": "kiln_pot.slow[0]", "action": "create"}]);
    namespace.wait("beside", "the uncertain change is told", |workspace| {
        (workspace["status"]["run"]["uncertain"] == uncertain).then_some(())
    })?;

    // It is there again; nothing is made by itself.
    let _kiln = Sidecar::start(&bench, KILN, &places.kiln, world.path())?;
    namespace.request("beside", "again")?;
    namespace.wait("beside", "it waits for a person", |workspace| {
        (reason(workspace, "Ready").as_deref() == Some("UncertainChanges")).then_some(())
    })?;
    assert_eq!(world.count("start", "create", "slow")?, 1);
    assert_eq!(world.pots()?, ["pot-base-1", "pot-slow-0"]);

    // A person removes what nobody knew of and says so.
    world.break_pot("pot-slow-0")?;
    namespace.apply(&workspace(false))?;
    namespace.patch(
        "beside",
        &json!({"metadata": {"annotations": {"ashlar.dev/settled": "kiln_pot.slow[0]"}}}),
    )?;
    let settled = namespace.wait_for("beside", "Ready", "True")?;
    assert_eq!(
        settled["status"]["outputs"][0]["value"], suffix,
        "it was not made anew"
    );
    assert_eq!(world.pots()?, ["pot-base-1"]);
    Ok(())
}

#[test]
fn a_sidecar_that_is_not_what_was_said_is_refused() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "sidecarno")?;
    let world = &namespace.world;
    let places = Places::new()?;
    let _random = Sidecar::start(&bench, RANDOM, &places.random, world.path())?;
    let _kiln = Sidecar::start(&bench, KILN, &places.kiln, world.path())?;
    for (version, protocol, wanted) in [
        (
            "2.1.0",
            6,
            "of version 2.1.0, and the configuration asks for ~> 3.0",
        ),
        ("3.9.0", 5, "does not speak protocol 5"),
    ] {
        let offered = places.offered(version, protocol);
        let _operator = Operator::start(&namespace, &["--sidecars", &offered])?;
        namespace.apply(&workspace(false))?;
        refused(&namespace, wanted)?;
        namespace.kubectl(&["delete", "workspaces.ashlar.dev", "beside"])?;
    }
    assert_eq!(world.pots()?, [""; 0]);
    Ok(())
}

/// The workspace as it takes these sidecars, with a remote system of its own for providers that the operator starts.
fn choosing(world: &World, sidecars: Value) -> Result<String> {
    let mut workspace: Value = serde_json::from_str(&workspace(false))?;
    workspace["spec"]["providers"] = json!({"sidecars": sidecars});
    workspace["spec"]["env"] = json!([{"name": "KILN_DIR", "value": world.path()}]);
    Ok(workspace.to_string())
}

/// Waits until the manifest that was applied last is done with, and this condition holds.
fn settled(namespace: &Namespace, kind: &str) -> Result<Value> {
    let generation = namespace.workspace("beside")?["metadata"]["generation"].clone();
    namespace.wait("beside", kind, |workspace| {
        let holds = workspace["status"]["observedGeneration"] == generation
            && condition(workspace, kind).as_deref() == Some("True");
        holds.then(|| workspace.clone())
    })
}

#[test]
fn a_workspace_takes_none_or_some_of_the_sidecars_that_are_offered() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "sidecarof")?;
    let (own, elsewhere) = (&namespace.world, World::new()?);
    let places = Places::new()?;
    let _kiln = Sidecar::start(&bench, KILN, &places.kiln, elsewhere.path())?;
    // Nobody listens where the other one is said to be.
    let offered = places.offered("3.9.0", 6);
    let _operator = Operator::start(&namespace, &["--sidecars", &offered])?;
    namespace.apply(&choosing(own, json!([]))?)?;
    settled(&namespace, "Ready")?;
    assert_eq!(
        (own.pots()?, elsewhere.pots()?),
        (vec!["pot-base-1".to_owned()], vec![])
    );

    // Another choice is another plan, made by the sidecar: there is no such pot where it looks.
    namespace.apply(&choosing(own, json!([KILN]))?)?;
    settled(&namespace, "Ready")?;
    assert_eq!(elsewhere.pots()?, ["pot-base-1"]);
    assert_eq!(own.count("start", "create", "base")?, 1);

    // What is not offered is told, and no address is taken for one.
    for (named, wanted) in [
        ("hashicorp/aws", "which is not offered to this namespace"),
        ("tcp:127.0.0.1:1", "is not a provider's address"),
    ] {
        namespace.apply(&choosing(own, json!([named]))?)?;
        let refused = settled(&namespace, "Stalled")?;
        assert_eq!(reason(&refused, "Ready").as_deref(), Some("InvalidConfiguration"));
        let told = refused["status"]["conditions"].to_string();
        assert!(
            told.contains("spec.providers.sidecars") && told.contains(wanted),
            "{told}"
        );
    }
    Ok(())
}
