use std::sync::Arc;

use ashlar_addr::{InstanceKey, ModuleInstance};
use ashlar_config::{FoundModule, Library, ModuleRequest, Tree};
use ashlar_diag::Sources;
use ashlar_state::State;
use ashlar_value::Dialect;

use super::*;
use crate::{engine::Schemas, node::build, removal_run};

const ROOT: &str = r#"
resource "terraform_data" "a" {
  count = 2
  input = "a${count.index}"
}
resource "terraform_data" "b" {
  count = terraform_data.a[0].id == "" ? 1 : 1
}
resource "terraform_data" "c" {}
module "m" {
  source = "./m"
  count  = 2
}
resource "terraform_data" "d" {
  count = module.m[0].id == "" ? 1 : 1
}
output "a" { value = terraform_data.a[*].id }
output "c" { value = terraform_data.c.id }
output "none" { value = "n" }
output "m" { value = module.m[*].id }
variable "v" {
  validation {
    condition     = var.v != ""
    error_message = "v"
  }
}
"#;

const CALLED: &str = r#"
resource "terraform_data" "x" {}
resource "terraform_data" "y" {
  count = terraform_data.x.id == "" ? 1 : 1
}
output "id" { value = terraform_data.y[0].id }
"#;

struct Called;

impl Library for Called {
    fn find(&mut self, _: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        Ok(FoundModule {
            files: vec![("m/main.tf".into(), CALLED.into())],
            folder: "m".into(),
        })
    }
}

fn tree() -> Tree {
    let files = vec![("main.tf".into(), Arc::from(ROOT))];
    let mut sources = Sources::new();
    let nothing = BTreeMap::new();
    let (tree, faults) = ashlar_config::load(files, Dialect::Terraform, &nothing, &mut Called, &mut sources);
    assert!(faults.is_empty(), "{faults}");
    tree
}

fn selection(targets: &[&str], excludes: &[&str]) -> Selection {
    let read = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    Selection {
        targets: read(targets),
        excludes: read(excludes),
    }
}

/// What is left: instances in a short form (of `a` and of the module there are two each), outputs by name, validations.
fn left(targets: &[&str], excludes: &[&str]) -> String {
    let (tree, state, schemas) = (tree(), State::default(), Schemas::new());
    let selection = selection(targets, excludes);
    let sight = Sight {
        tree: &tree,
        state: &state,
        schemas: &schemas,
        selection: &selection,
        invoke: &[],
        refused: &BTreeMap::new(),
    };
    let mut found = Vec::new();
    for node in build(&sight, None).nodes() {
        match node {
            Node::Resource(resource) => {
                let modules = if resource.module.is_root() {
                    vec![ModuleInstance::root()]
                } else {
                    (0..2)
                        .map(|at| ModuleInstance::root().child("m", InstanceKey::Int(at)))
                        .collect()
                };
                let keys = match &*resource.resource.name {
                    "a" => vec![InstanceKey::Int(0), InstanceKey::Int(1)],
                    "x" | "c" => vec![InstanceKey::None],
                    _ => vec![InstanceKey::Int(0)],
                };
                let all = modules
                    .iter()
                    .flat_map(|module| keys.iter().map(move |key| (module.clone(), key.clone())));
                let instances = all.map(|(module, key)| resource.resource.within(module).instance(key));
                let taken = instances.filter(|instance| selection.takes(instance));
                found.extend(taken.map(|instance| {
                    let text = instance.to_string();
                    let one = matches!(&*resource.resource.name, "b" | "d" | "y");
                    let text = if one { text.trim_end_matches("[0]") } else { &text };
                    text.replace("terraform_data.", "").replace("module.", "")
                }));
            }
            Node::Output(module, name) if module.is_root() => found.push(format!("output {name}")),
            Node::Validation(_, name) => found.push(format!("validation {name}")),
            _ => {}
        }
    }
    found.sort();
    found.join(", ")
}

#[test]
fn without_limits_everything_is_left() {
    let all = "a[0], a[1], b, c, d, m[0].x, m[0].y, m[1].x, m[1].y, output a, output c, output m, output none, validation v";
    assert_eq!(left(&[], &[]), all);
}

#[test]
fn a_target_keeps_what_it_needs() {
    let check = |target: &str, want: &str| assert_eq!(left(&[target], &[]), want, "{target}");
    check("terraform_data.b", "a[0], a[1], b, output a");
    check("terraform_data.a[1]", "a[1], output a");
    check("terraform_data.c", "c, output c");
    check("terraform_data.none", "");
    check("module.m[0]", "m[0].x, m[0].y, output m");
    // What is only needed stays whole.
    check("module.m[0].terraform_data.y", "m[0].x, m[0].y, m[1].x, output m");
}

#[test]
fn what_is_excluded_takes_its_users_along_as_with_opentofu() {
    let check = |excludes: &[&str], want: &str| assert_eq!(left(&[], excludes), want, "{excludes:?}");
    check(
        &["terraform_data.a"],
        "c, d, m[0].x, m[0].y, m[1].x, m[1].y, output c, output m",
    );
    check(
        &["terraform_data.a[1]"],
        "a[0], c, d, m[0].x, m[0].y, m[1].x, m[1].y, output a, output c, output m",
    );
    check(&["module.m"], "a[0], a[1], b, c, output a, output c");
    check(&["module.m[1]"], "a[0], a[1], b, c, m[0].x, output a, output c");
    check(
        &["terraform_data.c", "module.m.terraform_data.y"],
        "a[0], a[1], b, m[0].x, m[1].x, output a",
    );
    check(
        &["module.m[0].terraform_data.x"],
        "a[0], a[1], b, c, m[1].x, output a, output c",
    );
    check(
        &["terraform_data.zz", "terraform_data.c"],
        "a[0], a[1], b, d, m[0].x, m[0].y, m[1].x, m[1].y, output a, output m",
    );
}

/// A state with objects and what each depends on.
fn state(objects: &[(&str, &[&str])]) -> State {
    let mut state = State::default();
    for (address, dependencies) in objects {
        let object = ashlar_state::Object {
            schema_version: 0,
            attributes: Arc::from(*b"{}"),
            sensitive: Vec::new(),
            private: Arc::default(),
            status: ashlar_state::Status::Ready,
            dependencies: dependencies.iter().map(|text| text.parse().unwrap()).collect(),
            create_before_destroy: false,
            skip_destroy: false,
            identity: None,
        };
        let provider = "provider[\"terraform.io/builtin/terraform\"]".parse().unwrap();
        state.set(&address.parse().unwrap(), None, &provider, Some(Arc::new(object)));
    }
    state
}

#[test]
fn what_is_destroyed_takes_its_users_along_and_what_is_excluded_keeps_what_it_needs() {
    let state = state(&[
        ("t.a", &[]),
        ("t.b", &["t.a"]),
        ("t.c", &["t.a", "t.b"]),
        ("t.d", &[]),
        ("module.m[0].t.x", &[]),
        ("module.m[0].t.y", &["module.m.t.x"]),
        ("module.m[1].t.x", &[]),
        ("module.m[1].t.y", &["module.m.t.x"]),
    ]);
    let check = |targets: &[&str], excludes: &[&str], want: &str| {
        let selection = selection(targets, excludes);
        let removed = removal_run::selected(&state, &selection, |_| Arc::default());
        let mut removed: Vec<String> = removed
            .into_iter()
            .map(|(address, _)| address.to_string())
            .collect();
        removed.sort();
        let short: Vec<String> = removed
            .iter()
            .map(|text| text.replace("module.", "").replace("t.", ""))
            .collect();
        assert_eq!(short.join(" "), want, "{targets:?} {excludes:?}");
    };
    check(&[], &[], "m[0].x m[0].y m[1].x m[1].y a b c d");
    check(&["t.b"], &[], "b c");
    check(&["t.a"], &[], "a b c");
    check(&["module.m[0].t.x"], &[], "m[0].x m[0].y");
    check(&["t.none"], &[], "");
    check(&[], &["t.b"], "m[0].x m[0].y m[1].x m[1].y c d");
    check(&[], &["t.c", "module.m[1].t.y"], "m[0].x m[0].y d");
}

#[test]
fn a_move_must_be_selected_with_both_ends() {
    let moved: BTreeMap<ResourceInstance, ResourceInstance> = [("t.b[0]", "t.a"), ("t.b[1]", "t.c")]
        .map(|(to, from)| (to.parse().unwrap(), from.parse().unwrap()))
        .into();
    let check = |targets: &[&str], excludes: &[&str], left: &[&str]| {
        let faults = selection(targets, excludes).move_faults(&moved);
        let text: String = faults.iter().map(|diag| diag.detail.clone()).collect();
        let named: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
        assert_eq!(named, left, "{targets:?} {excludes:?}");
    };
    check(&[], &[], &[]);
    check(&["t.a", "t.b", "t.c"], &[], &[]);
    check(&["t.b"], &[], &["t.a", "t.c"]);
    check(&["t.a", "t.c", "t.b[0]"], &[], &["t.b"]);
    check(&[], &["t.c", "t.d"], &["t.c"]);
}
