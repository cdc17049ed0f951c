//! Each table row: a configuration, and its faults as `summary line:column`.

use super::*;
use ashlar_diag::Sources;
use ashlar_funcs::NoCaps;
use ashlar_value::{
    Type,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting, Schema},
};

use crate::fixture::load_text;

fn attribute(ty: Type, flags: &str) -> Attribute {
    Attribute {
        ty: AttributeType::Plain(ty),
        required: flags.contains('r'),
        optional: flags.contains('o'),
        computed: flags.contains('c'),
        sensitive: false,
        write_only: flags.contains('w'),
        deprecated: None,
    }
}

/// A provider with the type `pot`, as a resource and as a data source.
fn provider() -> Arc<ProviderSchema> {
    let shard = Block {
        attributes: [("size".into(), attribute(Type::Number, "o"))].into(),
        ..Block::default()
    };
    let nested = NestedBlock {
        nesting: Nesting::List,
        block: shard,
        min_items: 0,
        max_items: 0,
    };
    let block = Block {
        attributes: [
            ("id".into(), attribute(Type::String, "c")),
            ("glaze".into(), attribute(Type::String, "o")),
            ("secret".into(), attribute(Type::String, "ow")),
        ]
        .into(),
        blocks: [("shard".into(), nested)].into(),
        deprecated: None,
    };
    let schema = Schema {
        version: 0,
        block: block.clone(),
        identity: None,
    };
    let mut provider = ProviderSchema {
        provider: schema.clone(),
        ..ProviderSchema::default()
    };
    provider.resources.insert("kiln_pot".into(), schema.clone());
    provider.data_sources.insert("kiln_view".into(), schema);
    Arc::new(provider)
}

#[track_caller]
fn check(text: &str, want: &[&str]) {
    let mut sources = Sources::new();
    let (tree, diags) = load_text(text, &mut sources);
    assert!(!diags.has_errors(), "{diags}");
    let schema = provider();
    let diags = check_schemas(&tree, &|_| Some(schema.clone()), &NoCaps, &ask_nobody);
    let mut found: Vec<String> = diags
        .iter()
        .map(|diag| match diag.subject.and_then(|span| sources.place(span)) {
            Some(place) => format!("{} {}:{}", diag.summary, place.start.line, place.start.column),
            None => diag.summary.to_string(),
        })
        .collect();
    found.sort();
    assert_eq!(found, want, "{text}");
}

#[test]
fn sound_modules_pass() {
    check(
        r#"
        variable "v" {}
        locals {
          a = local.b
          b = var.v
        }
        provider "kiln" { glaze = local.a }
        resource "kiln_pot" "a" {
          count = var.v
          glaze = "${local.a}-${count.index}"
          shard { size = "1" }
          lifecycle {
            ignore_changes = [glaze, shard[0].size]
            postcondition {
              condition     = self.id != ""
              error_message = "m"
            }
          }
        }
        data "kiln_view" "d" {
          for_each   = { a = 1 }
          glaze      = each.value
          depends_on = [kiln_pot.a]
        }
        output "o" { value = [kiln_pot.a[*].id, data.kiln_view.d["a"].id] }
        "#,
        &[],
    );
}

#[test]
fn types_and_arguments_are_held_against_the_schema() {
    check(
        "resource \"kiln_pott\" \"a\" {}\n",
        &["Invalid resource type 1:10"],
    );
    check("data \"kiln_pot\" \"a\" {}\n", &["Invalid data source 1:6"]);
    check(
        "resource \"kiln_pot\" \"a\" {\n  glase = 1\n  sherd {}\n}\n",
        &["Unsupported argument 2:3", "Unsupported block type 3:3"],
    );
    check(
        "resource \"kiln_pot\" \"a\" {\n  lifecycle {\n    ignore_changes = [nothing]\n  }\n}\n",
        &["Unsupported attribute 3:23"],
    );
    check(
        "resource \"kiln_pot\" \"a\" {\n  lifecycle {\n    ignore_changes = [id]\n  }\n}\n",
        &["Redundant ignore_changes element 1:10"],
    );
}

#[test]
fn references_are_held_against_what_is_declared() {
    check(
        "locals {\n  a = var.x\n  b = local.x\n  c = kiln_pot.x\n}\n",
        &[
            "Reference to undeclared input variable 2:7",
            "Reference to undeclared local value 3:7",
            "Reference to undeclared resource 4:7",
        ],
    );
    let pot = "resource \"kiln_pot\" \"a\" {}\n";
    check(
        &format!("{pot}locals {{ a = kiln_pot.a.nothing }}\n"),
        &["Unsupported attribute 2:24"],
    );
    check(
        &format!("{pot}locals {{ a = kiln_pot.a[0] }}\n"),
        &["Unexpected resource instance key 2:14"],
    );
    check(
        "resource \"kiln_pot\" \"a\" {\n  count = 1\n}\nlocals { a = kiln_pot.a.id }\n",
        &["Missing resource instance key 4:14"],
    );
    check(
        "locals {\n  a = each.key\n  b = count.index\n  c = self\n}\n",
        &[
            "Invalid \"self\" reference 4:7",
            "Reference to \"count\" in non-counted context 3:7",
            "Reference to \"each\" in context without for_each 2:7",
        ],
    );
}

#[test]
fn a_fault_is_told_once() {
    let chain = "locals {\n  a = var.x\n  b = local.a + []\n}\noutput \"o\" {\n  value = local.b\n}\n";
    check(chain, &["Reference to undeclared input variable 2:7"]);
    // Unused providers are not looked at; a used one hides what uses it.
    check("provider \"kiln\" {\n  nothing = 1\n}\n", &[]);
    check(
        "provider \"kiln\" {\n  nothing = 1\n}\nresource \"kiln_pot\" \"a\" {\n  other = 1\n}\n",
        &["Unsupported argument 2:3"],
    );
}

#[test]
fn repetition_is_judged_as_far_as_it_is_known() {
    let with = |inner: &str| {
        format!("variable \"s\" {{\n  sensitive = true\n}}\nresource \"kiln_pot\" \"a\" {{\n  {inner}\n}}\n")
    };
    check(&with("count = -1"), &["Invalid count argument 5:11"]);
    check(&with("count = 1.5"), &["Invalid count argument 5:11"]);
    check(&with("count = null"), &["Invalid count argument 5:11"]);
    check(&with("count = []"), &["Incorrect value type 5:11"]);
    check(&with("for_each = [1]"), &["Invalid for_each argument 5:14"]);
    check(&with("for_each = var.s"), &["Invalid for_each argument 5:14"]);
    check(
        &with("for_each = each.value"),
        &["each.value cannot be used in this context 5:14"],
    );
}

#[test]
fn outputs_are_judged() {
    check(
        "variable \"s\" {\n  sensitive = true\n}\noutput \"o\" {\n  value = var.s\n}\n",
        &["Output refers to sensitive values 4:1"],
    );
    check(
        "output \"o\" {\n  value = 1\n  ephemeral = true\n}\n",
        &["Ephemeral output not allowed 1:1"],
    );
    check(
        "output \"o\" {\n  type = number\n  value = \"x\"\n}\n",
        &["Invalid output value 3:11"],
    );
    check(
        "output \"o\" {\n  value = 1\n  deprecated = \"d\"\n}\n",
        &["Root module output deprecated 3:3"],
    );
}

#[test]
fn ephemeral_values_go_only_into_write_only_arguments() {
    check(
        "variable \"e\" {\n  ephemeral = true\n}\nresource \"kiln_pot\" \"a\" {\n  glaze = var.e\n  secret = var.e\n}\n",
        &["Invalid use of ephemeral value 5:11"],
    );
}

#[test]
fn own_arguments_may_not_refer_to_the_resource() {
    let mut sources = Sources::new();
    let text = "resource \"kiln_pot\" \"a\" {\n  glaze = kiln_pot.a.id\n}\n";
    let (tree, _) = load_text(text, &mut sources);
    let provider = provider();
    let (resource, config) = tree.root().resources.iter().next().unwrap();
    let diags = crate::self_references(resource, config, provider.resources.get(&resource.kind).unwrap());
    assert_eq!(
        diags.iter().map(|diag| &*diag.summary).collect::<Vec<_>>(),
        ["Self-referential block"]
    );
}
