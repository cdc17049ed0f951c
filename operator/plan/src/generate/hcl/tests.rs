use std::collections::BTreeMap;

use expect_test::{Expect, expect};

use super::*;

fn attribute(ty: Type) -> Attribute {
    Attribute {
        ty: AttributeType::Plain(ty),
        required: false,
        optional: true,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: None,
    }
}

fn schema(attributes: &[(&str, Attribute)], blocks: &[(&str, Nesting, Block)]) -> Block {
    Block {
        attributes: attributes
            .iter()
            .map(|(name, attribute)| (Arc::from(*name), attribute.clone()))
            .collect(),
        blocks: blocks
            .iter()
            .map(|(name, nesting, block)| {
                let nested = NestedBlock {
                    nesting: *nesting,
                    block: block.clone(),
                    min_items: 0,
                    max_items: 0,
                };
                (Arc::from(*name), nested)
            })
            .collect(),
        deprecated: None,
    }
}

fn nested(nesting: Nesting, attributes: &[(&str, Attribute)]) -> Attribute {
    let attributes: BTreeMap<Arc<str>, Attribute> = schema(attributes, &[]).attributes;
    Attribute {
        ty: AttributeType::Nested { nesting, attributes },
        ..attribute(Type::String)
    }
}

#[track_caller]
fn check(block: &Block, json: &str, is_state: bool, want: &Expect) {
    let value = ashlar_value::json::decode(json.as_bytes(), &block.ty()).unwrap();
    // A body stands inside of braces; here it stands at the margin.
    let text = body(block, &value, is_state, None);
    let lines = text
        .lines()
        .map(|line| format!("{}\n", line.strip_prefix("  ").unwrap()));
    want.assert_eq(&lines.collect::<String>());
}

#[test]
fn arguments_stand_in_columns_and_long_ones_apart() {
    let text = || attribute(Type::String);
    let block = schema(
        &[
            ("a", text()),
            ("long_name", text()),
            (
                "secret",
                Attribute {
                    sensitive: true,
                    ..text()
                },
            ),
            ("tags", attribute(Type::Map(Arc::new(Type::String)))),
            ("z", attribute(Type::List(Arc::new(Type::Number)))),
            ("zz", text()),
        ],
        &[],
    );
    check(
        &block,
        r#"{"a": "x\n${y}", "long_name": null, "secret": "s", "tags": {"k": "v", "long key": "w"}, "z": [1, 2.5],
            "zz": "{\"a\": [true, null]}"}"#,
        true,
        &expect![[r#"
              a         = "x\n$${y}"
              long_name = null
              secret    = null # sensitive
              tags = {
                k          = "v"
                "long key" = "w"
              }
              z = [1, 2.5]
              zz = jsonencode({
                a = [true, null]
              })
        "#]],
    );
}

#[test]
fn what_cannot_be_configured_is_left_out_of_a_state_and_not_of_a_configuration() {
    let made = |optional| Attribute {
        computed: true,
        optional,
        ..attribute(Type::String)
    };
    let old = Attribute {
        deprecated: Some(String::new()),
        ..attribute(Type::String)
    };
    let block = schema(
        &[
            ("arn", made(false)),
            ("empty", attribute(Type::String)),
            ("id", made(true)),
            ("kept", made(true)),
            ("old", old),
        ],
        &[],
    );
    let json = r#"{"arn": "a", "empty": "", "id": "i", "kept": "k", "old": "o"}"#;
    check(
        &block,
        json,
        true,
        &expect![[r#"
          empty = null
          kept  = "k"
    "#]],
    );
    check(
        &block,
        json,
        false,
        &expect![[r#"
          arn   = "a"
          empty = ""
          id    = "i"
          kept  = "k"
    "#]],
    );
}

#[test]
fn nested_blocks_and_attributes_are_written_by_how_they_are_held() {
    let one = || [("a", attribute(Type::String)), ("bcd", attribute(Type::Bool))];
    let block = schema(
        &[
            ("items", nested(Nesting::List, &one())),
            ("named", nested(Nesting::Map, &one())),
            ("none", nested(Nesting::Single, &one())),
            ("single", nested(Nesting::Single, &one())),
        ],
        &[
            ("inner", Nesting::List, schema(&one(), &[])),
            ("keyed", Nesting::Map, schema(&one(), &[])),
            ("only", Nesting::Single, schema(&one(), &[])),
        ],
    );
    check(
        &block,
        r#"{"items": [{"a": "x", "bcd": true}], "named": {"k": {"a": null, "bcd": false}, "k k": {"a": "y", "bcd": null}},
            "none": null, "single": {"a": "z", "bcd": true}, "inner": [{"a": "1", "bcd": null}, {"a": "2", "bcd": null}],
            "keyed": {"k": {"a": "3", "bcd": null}}, "only": null}"#,
        true,
        &expect![[r#"
              items = [
                {
                  a   = "x"
                  bcd = true
                },
              ]
              named = {
                k = {
                  a   = null
                  bcd = false
                }
                "k k" = {
                  a   = "y"
                  bcd = null
                }
              }
              none = null
              single = {
                a   = "z"
                bcd = true
              }
              inner {
                a   = "1"
                bcd = null
              }
              inner {
                a   = "2"
                bcd = null
              }
              keyed "k" {
                a   = "3"
                bcd = null
              }
        "#]],
    );
}
