//! Each table row: a configuration, and its faults as `summary line:column-line:column`.

use super::*;
use ashlar_addr::{LocalProvider, Provider, Resource};

use crate::{
    IgnoreChanges,
    fixture::{load_files, load_text},
};

fn read(text: &str) -> (Module, Vec<String>) {
    let mut sources = Sources::new();
    let (tree, diags) = load_text(text, &mut sources);
    let limits = crate::limits(&tree);
    // What cannot be planned is told of a sound configuration.
    let limits = (!diags.has_errors()).then_some(limits).into_iter().flatten();
    let diags: Vec<Diag> = diags.into_iter().chain(limits).collect();
    let show = |diag: &Diag| {
        let word = if diag.is_error() { "" } else { "(warning) " };
        let place = diag.subject.and_then(|span| sources.place(span));
        let place = place.map_or_else(String::new, |place| {
            let (start, end) = (place.start, place.end);
            format!(" {}:{}-{}:{}", start.line, start.column, end.line, end.column)
        });
        format!("{word}{}{place}", diag.summary)
    };
    (tree.root().clone(), diags.iter().map(show).collect())
}

#[track_caller]
fn check(text: &str, want: &[&str]) {
    assert_eq!(read(text).1, want, "{text}");
}

#[track_caller]
fn module(text: &str) -> Module {
    let (module, faults) = read(text);
    assert_eq!(faults, Vec::<String>::new(), "{text}");
    module
}

fn resource(kind: &str, name: &str) -> Resource {
    Resource::new(Mode::Managed, kind, name)
}

#[test]
fn a_whole_module_is_read() {
    let module = module(
        r#"
        terraform {
          required_version = ">= 1.5"
          required_providers {
            near = { source = "forge.test/studio/kiln", version = "~> 2.0" }
          }
        }
        provider "near" {
          alias  = "west"
          region = "w"
        }
        variable "v" { default = 1 }
        locals { l = var.v }
        resource "near_pot" "a" {
          provider   = near.west
          count      = 2
          depends_on = [near_pot.b]
          glaze      = local.l
          lifecycle {
            create_before_destroy = true
            ignore_changes        = [glaze, tags["x"], list[0].y]
            replace_triggered_by  = [near_pot.b[each.key].id]
            precondition {
              condition     = var.v > 0
              error_message = "m"
            }
          }
          _ { count = "for the provider" }
        }
        resource "near_pot" "b" {}
        output "o" {
          value     = near_pot.a
          sensitive = true
        }
        "#,
    );
    let a = &module.resources[&resource("near_pot", "a")];
    assert_eq!(
        a.provider_config.to_string(),
        "provider[\"forge.test/studio/kiln\"].west"
    );
    assert_eq!(
        a.local_provider,
        LocalProvider {
            name: "near".into(),
            alias: Some("west".into())
        }
    );
    let names: Vec<&str> = a
        .body
        .attributes
        .iter()
        .map(|attribute| &*attribute.name.name)
        .collect();
    assert_eq!(names, ["glaze", "count"]);
    assert!(a.body.blocks.is_empty() && a.count.is_some());
    assert_eq!(
        (a.lifecycle.create_before_destroy, a.lifecycle.prevent_destroy),
        (Some(true), None)
    );
    let IgnoreChanges::Paths(paths) = &a.lifecycle.ignore_changes else {
        panic!("no paths")
    };
    let paths: Vec<String> = paths.iter().map(|(path, _)| path.to_string()).collect();
    assert_eq!(paths, [".glaze", ".tags[\"x\"]", ".list[0].y"]);
    assert_eq!(
        (
            a.lifecycle.replace_triggered_by.len(),
            a.lifecycle.preconditions.len()
        ),
        (1, 1)
    );
    let b = &module.resources[&resource("near_pot", "b")];
    assert_eq!(
        b.provider_config.to_string(),
        "provider[\"forge.test/studio/kiln\"]"
    );
    let config = module.own_block(&a.provider_config).unwrap();
    assert_eq!(config.body.attributes.len(), 1);
    assert!(module.own_block(&b.provider_config).is_none());
    let needed: Vec<String> = module
        .requirements()
        .iter()
        .map(|(provider, versions)| format!("{provider} {versions}"))
        .collect();
    assert_eq!(needed, ["forge.test/studio/kiln ~> 2.0"]);
    assert!(module.outputs["o"].sensitive);
}

#[test]
fn providers_are_implied_by_the_type() {
    let module = module("resource \"terraform_data\" \"a\" {}\ndata \"random\" \"b\" {}\n");
    let of = |resource| &module.resources[&resource].provider_config.provider;
    assert_eq!(*of(resource("terraform_data", "a")), Provider::builtin());
    assert_eq!(
        *of(Resource::new(Mode::Data, "random", "b")),
        Provider::implied("random")
    );
}

#[test]
fn files_are_read_in_order_of_their_names() {
    let mut sources = Sources::new();
    let files = [
        ("b.tf", "locals { a = 1 }"),
        ("a.tf", "locals { a = 2 }"),
        ("c.txt", "?"),
        ("m/x.tf", "?"),
        (".x.tf", "?"),
    ];
    let (_, diags) = load_files(&files, &mut sources);
    let blamed: Vec<_> = diags
        .iter()
        .filter_map(|diag| sources.place(diag.subject?))
        .map(|place| place.file)
        .collect();
    assert_eq!(blamed, ["b.tf".into()]);
}

#[test]
fn what_the_engine_does_not_run_is_refused_at_its_line() {
    check("ephemeral \"a\" \"b\" {}\n", &[]);
    check(
        "terraform {\n  backend \"s3\" {}\n}\n",
        &["(warning) Unused backend block 2:3-2:15"],
    );
}

#[test]
fn blocks_and_labels_must_fit() {
    check("resourse \"a\" \"b\" {}\n", &["Unsupported block type 1:1-1:9"]);
    check("a = 1\n", &["Unsupported argument 1:1-1:2"]);
    check("resource \"a\" {}\n", &["Missing name for resource 1:14-1:15"]);
    check(
        "variable \"a\" \"b\" {}\n",
        &["Extraneous label for variable 1:14-1:17"],
    );
    check("locals {\n  b {}\n}\n", &["Unexpected \"b\" block 2:3-2:4"]);
    check(
        "resource \"a b\" \"1\" {}\n",
        &[
            "Invalid resource type name 1:10-1:15",
            "Invalid resource name 1:16-1:19",
        ],
    );
    check(
        "resource \"-a\" \"b\" {}\n",
        &["Invalid resource type name 1:10-1:14"],
    );
    check("output \"o\" {}\n", &["Missing required argument 1:12-1:12"]);
    check(
        "output \"o\" {\n  value = 1\n  postcondition {}\n}\n",
        &["Postconditions are not allowed 3:3-3:16"],
    );
}

#[test]
fn names_are_unique() {
    check(
        "locals { a = 1 }\nlocals { a = 2 }\n",
        &["Duplicate local value definition 2:10-2:15"],
    );
    check(
        "variable \"a\" {}\nvariable \"a\" {}\n",
        &["Duplicate variable declaration 2:1-2:13"],
    );
    check(
        "data \"a\" \"b\" {}\ndata \"a\" \"b\" {}\n",
        &["Duplicate data \"a\" configuration 2:1-2:13"],
    );
    check(
        "provider \"a\" {}\nprovider \"a\" {}\n",
        &["Duplicate provider configuration 2:1-2:13"],
    );
    check("resource \"a\" \"b\" {}\ndata \"a\" \"b\" {}\n", &[]);
}

#[test]
fn meta_arguments_are_judged() {
    check(
        "resource \"a\" \"b\" {\n  count = 1\n  for_each = {}\n}\n",
        &["Invalid combination of \"count\" and \"for_each\" 3:3-3:11"],
    );
    check(
        "resource \"a\" \"b\" {\n  provider = \"x\"\n}\n",
        &["(warning) Quoted references are deprecated 2:14-2:17"],
    );
    check(
        "resource \"a\" \"b\" {\n  provider = a.b.c\n}\n",
        &["Invalid provider configuration reference 2:14-2:19"],
    );
    check(
        "resource \"a\" \"b\" {\n  provider = a.b\n}\n",
        &["Provider configuration not present"],
    );
    check(
        "resource \"a\" \"b\" {\n  depends_on = [a.c, f(), \"a.d\"]\n}\n",
        &[
            "Invalid expression 2:22-2:25",
            "(warning) Quoted references are deprecated 2:27-2:32",
        ],
    );
    check(
        "resource \"a\" \"b\" {\n  locals {}\n  _ {}\n  _ {}\n}\n",
        &[
            "Reserved block type name in resource block 2:3-2:9",
            "Duplicate escaping block 4:3-4:4",
        ],
    );
}

#[test]
fn lifecycles_are_judged() {
    let within = |inner: &str| format!("resource \"a\" \"b\" {{\n  lifecycle {{\n    {inner}\n  }}\n}}\n");
    let check = |inner: &str, want: &[&str]| check(&within(inner), want);
    check("ignore_changes = all", &[]);
    check(
        "ignore_changes = [\"*\"]",
        &["Invalid ignore_changes wildcard 3:22-3:27"],
    );
    check(
        "ignore_changes = [x, \"*\"]",
        &[
            "Invalid ignore_changes wildcard 3:22-3:30",
            "Invalid ignore_changes ruleset 3:26-3:29",
        ],
    );
    check(
        "replace_triggered_by = [var.x]",
        &[
            "Invalid reference in replace_triggered_by expression 3:29-3:34",
            "Invalid replace_triggered_by expression 3:29-3:34",
        ],
    );
    check(
        "replace_triggered_by = [a.c, a.c[each.value]]",
        &["Invalid each reference in replace_triggered_by expression 3:34-3:49"],
    );
    check("destroy = false", &["Unsupported argument 3:5-3:12"]);
    check(
        "precondition {\n condition = a.b.c\n error_message = \"m\"\n}",
        &["Invalid reference in precondition 4:14-4:19"],
    );
    super::tests::check(
        "data \"a\" \"b\" {\n  lifecycle {\n    prevent_destroy = true\n  }\n}\n",
        &["Invalid data resource lifecycle argument 3:5-3:20"],
    );
}

#[test]
fn versions_are_judged() {
    let check = |inner: &str, want: &[&str]| check(&format!("terraform {{\n  {inner}\n}}\n"), want);
    check("required_version = \"~> 1.15.0\"", &[]);
    check(
        "required_version = \"> 2\"",
        &["Unsupported Terraform Core version 2:3-2:27"],
    );
    check(
        "required_version = \">= 1.0.0-beta1\"",
        &["Invalid required_version constraint 2:3-2:38"],
    );
    check(
        "required_version = \"one\"",
        &["Invalid version constraint 2:22-2:27"],
    );
    check(
        "experiments = [x]",
        &["Module uses experimental features 2:3-2:14"],
    );
    check(
        "required_providers {\n a = { source = \"x/y\", version = 1 }\n}",
        &["Invalid version constraint 3:34-3:35"],
    );
    check(
        "required_providers {\n a = { sauce = \"x\" }\n}",
        &["Invalid required_providers object 3:8-3:13"],
    );
    check("required_providers {\n a = \"~> 1.0\"\n}", &[]);
}
