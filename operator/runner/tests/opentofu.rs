//! What OpenTofu's language has and Terraform's has not, planned with the builtin provider alone.

#![allow(
    clippy::unwrap_used,
    reason = "a test ends where something is not as it should be"
)]

use std::{collections::BTreeMap, path::Path, sync::Arc};

use ashlar_config::{Input, InputValue, Origin};
use ashlar_diag::Sources;
use ashlar_install::{Cache, Installer};
use ashlar_plan::{Mode, Options};
use ashlar_port::Unwatched;
use ashlar_provider::{Fence, Launcher};
use ashlar_provisioner::{LocalPrograms, Rules};
use ashlar_runner::{Modules, PlanRequest, Settings, plan};
use ashlar_sources::Reach;
use ashlar_value::Dialect;

/// Two objects, `terraform_data.a[0]` and `[1]`.
const STATE: &str = r#"{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"l","outputs":{},"resources":[{"mode":"managed",
"type":"terraform_data","name":"a","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[
{"index_key":0,"schema_version":0,"attributes":{"id":"i0","input":null,"output":null,"triggers_replace":null},"sensitive_attributes":[]},
{"index_key":1,"schema_version":0,"attributes":{"id":"i1","input":null,"output":null,"triggers_replace":null},"sensitive_attributes":[]}
]}]}"#;

fn settings(scratch: &Path) -> Settings {
    Settings {
        installer: Installer::of_folders(Vec::new(), Cache::new(scratch.join("cache"), 1 << 30)),
        scratch: scratch.to_owned(),
        writable: Vec::new(),
        launcher: Launcher {
            program: "/nowhere".into(),
            arguments: Vec::new(),
        },
        fence: Fence::Off,
        bounds: Default::default(),
        inherit_environment: false,
        provisioners: Rules {
            programs: LocalPrograms::Refused("They are not needed."),
            reach: Reach::guarded(Vec::new()),
            agent: None,
        },
        states: None,
        warm: None,
        sidecars: Default::default(),
        turns: Default::default(),
        schemas: Default::default(),
    }
}

/// Plans over [`STATE`]; the changes that are no empty ones, and what is told.
async fn planned(text: &str, mode: Mode, p: &str) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let variables = "variable \"p\" {\n  default = null\n}\n";
    let input = Input {
        value: InputValue::Text(p.into()),
        origin: Origin::Direct,
    };
    let request = PlanRequest {
        files: vec![(Arc::from("main.tf"), Arc::from(format!("{variables}{text}")))],
        modules: Modules::default(),
        inputs: BTreeMap::from([(Arc::from("p"), input)]),
        sources: Sources::new(),
        env: Vec::new(),
        options: Options {
            mode,
            dialect: Dialect::OpenTofu,
            ..Options::default()
        },
        state: ashlar_state::read(STATE.as_bytes()).unwrap(),
        upgrade: false,
        generate: None,
        folder: folder.path().to_owned(),
        confines: None,
        held: Vec::new(),
    };
    let outcome = plan(&settings(folder.path()), request, &Unwatched).await;
    let changes = outcome.plan.map(|(plan, _)| plan.changes).unwrap_or_default();
    let changes = changes.iter().filter_map(|change| {
        let words = change.action.words().join(" then ");
        (words != "no-op").then(|| format!("{words} {}", change.address))
    });
    let mut told: Vec<String> = outcome
        .diags
        .iter()
        .map(|diag| diag.summary.to_string())
        .collect();
    told.sort();
    (changes.collect(), told)
}

fn resource(count: u8, lifecycle: &str) -> String {
    format!(
        "resource \"terraform_data\" \"a\" {{\n  count = {count}\n  lifecycle {{\n    {lifecycle}\n  }}\n}}\n"
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_computed_prevent_destroy_holds_for_whatever_would_go() {
    let check = async |text: String, mode, p, wanted: &[&str]| {
        let (_, told) = planned(&text, mode, p).await;
        assert_eq!(told, wanted, "{text} {p}");
    };
    let computed = |count| resource(count, "prevent_destroy = var.p");
    const PREVENTED: &str = "Resource instance cannot be destroyed";
    const INVALID: &str = "Invalid value for prevent_destroy";
    check(computed(0), Mode::Destroy, "true", &[PREVENTED, PREVENTED]).await;
    check(computed(0), Mode::Destroy, "false", &[]).await;
    check(computed(1), Mode::Normal, "true", &[PREVENTED]).await;
    check(computed(1), Mode::Normal, "false", &[]).await;
    check(computed(2), Mode::Normal, "true", &[]).await;
    check(computed(1), Mode::Normal, "\"maybe\"", &[INVALID, INVALID]).await;
    let null = || resource(1, "prevent_destroy = var.p ? null : false");
    check(null(), Mode::Normal, "true", &[INVALID]).await;
    let sensitive = resource(2, "prevent_destroy = sensitive(var.p)");
    check(sensitive, Mode::Normal, "true", &[INVALID, INVALID]).await;
    let counted = resource(1, "prevent_destroy = count.index == 0 && var.p");
    let reference = "Invalid reference in prevent_destroy";
    check(counted, Mode::Normal, "true", &[reference]).await;
    check(
        resource(0, "prevent_destroy = true"),
        Mode::Normal,
        "true",
        &[PREVENTED, PREVENTED],
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_to_be_destroyed_is_forgotten() {
    let check = async |text: String, mode, changes: &[&str]| {
        let (found, told) = planned(&text, mode, "true").await;
        assert_eq!(found, changes, "{text}");
        let forgotten = changes.iter().any(|change| change.contains("forget"));
        let warned: &[&str] = if forgotten {
            &["Some objects will no longer be managed by Terraform"]
        } else {
            &[]
        };
        assert_eq!(told, warned, "{text}");
    };
    let (one, other) = ("forget terraform_data.a[0]", "forget terraform_data.a[1]");
    check(resource(1, "destroy = false"), Mode::Normal, &[other]).await;
    check(resource(2, "destroy = false"), Mode::Destroy, &[one, other]).await;
    check(
        resource(1, "destroy = true"),
        Mode::Normal,
        &["delete terraform_data.a[1]"],
    )
    .await;
    // It does not go, so nothing prevents it.
    let both = "destroy = false\n    prevent_destroy = true";
    check(resource(2, both), Mode::Destroy, &[one, other]).await;
    let replaced =
        resource(2, "destroy = false").replace("  lifecycle", "  triggers_replace = \"x\"\n  lifecycle");
    let changes = [
        "forget then create terraform_data.a[0]",
        "forget then create terraform_data.a[1]",
    ];
    check(replaced, Mode::Normal, &changes).await;
}
