//! The text of plans, by what happens to an object.

mod sections;

use ashlar_value::Path;
use expect_test::{Expect, expect};

use super::sample::{change, object, plan, schemas};
use super::*;
use crate::Reason;

/// The text of a plan; whatever it is, no secret may be in it.
fn check(plan: &Plan, expected: Expect) {
    let text = render(plan, &schemas(), Style::Plain);
    assert!(!text.contains("hush"), "a secret is shown:\n{text}");
    expected.assert_eq(&text);
}

/// The text of one update.
fn check_update(before: &str, after: &str, expected: Expect) {
    let text = render(
        &plan(vec![change("kiln_pot.a", Action::Update, before, after)]),
        &schemas(),
        Style::Plain,
    );
    // From the first letter on, so that the expectation keeps the indent of the other lines.
    let start = text.find("resource \"").unwrap();
    let end = text.find("\nPlan:").unwrap();
    expected.assert_eq(&text[start..end]);
}

const FULL: &str = r#"{"id": "pot-1", "name": "a", "size": 12, "fired": true, "parts": ["lid", "body"], "marks": ["x"],
    "labels": {"maker": "ada", "b c": "d"}, "secret": "hush", "origin": {"depth": 0.5, "quarry": "north"},
    "rule": [{"port": 80, "via": "tcp"}], "zone": {"z": {"port": 1}}}"#;

#[test]
fn creation_shows_all_that_is_set() {
    let after = FULL.replace("pot-1", "?");
    let mut with_data = change(
        "module.m[0].data.kiln_pot.d[\"k\"]",
        Action::Read,
        "",
        r#"{"name": "d", "id": "?"}"#,
    );
    with_data.reason = Some(Reason::ReadBecauseConfigUnknown);
    check(
        &plan(vec![change("kiln_pot.a", Action::Create, "", &after), with_data]),
        expect![[r#"

        Resource actions of this plan are indicated with these symbols:
          + create
         <= read (data resources)

        Ashlar will perform the following actions:

          # kiln_pot.a will be created
          + resource "kiln_pot" "a" {
              + fired  = true
              + id     = (known after apply)
              + key_wo = (write-only attribute)
              + labels = {
                  + "b c"   = "d"
                  + "maker" = "ada"
                }
              + marks  = [
                  + "x",
                ]
              + name   = "a"
              + origin = {
                  + depth  = 0.5
                  + quarry = "north"
                }
              + parts  = [
                  + "lid",
                  + "body",
                ]
              + secret = (sensitive value)
              + size   = 12

              + rule {
                  + port = 80
                  + via  = "tcp"
                }

              + zone "z" {
                  + port = 1
                }
            }

          # module.m[0].data.kiln_pot.d["k"] will be read during apply
          # (config refers to values not yet known)
         <= data "kiln_pot" "d" {
              + id     = (known after apply)
              + key_wo = (write-only attribute)
              + name   = "d"
            }

        Plan: 1 to add, 0 to change, 0 to destroy.
    "#]],
    );
}

#[test]
fn destruction_shows_what_goes_and_why() {
    let mut gone = change("kiln_pot.a", Action::Delete, FULL, "");
    gone.reason = Some(Reason::DeleteBecauseNoResourceConfig);
    let mut left_over = change(
        "kiln_pot.b[2]",
        Action::Delete,
        r#"{"id": "b", "note": "one\ntwo"}"#,
        "",
    );
    left_over.deposed = Some(ashlar_addr::DeposedKey(0xabc));
    left_over.reason = Some(Reason::DeleteBecauseCountIndex);
    let forgotten = change("data.kiln_pot.d", Action::Delete, r#"{"id": "d"}"#, "");
    check(
        &plan(vec![forgotten, gone, left_over]),
        expect![[r#"

        Resource actions of this plan are indicated with these symbols:
          - destroy

        Ashlar will perform the following actions:

          # kiln_pot.a will be destroyed
          # (because kiln_pot.a is not in configuration)
          - resource "kiln_pot" "a" {
              - fired  = true -> null
              - id     = "pot-1" -> null
              - key_wo = (write-only attribute) -> null
              - labels = {
                  - "b c"   = "d"
                  - "maker" = "ada"
                } -> null
              - marks  = [
                  - "x",
                ] -> null
              - name   = "a" -> null
              - origin = {
                  - depth  = 0.5 -> null
                  - quarry = "north" -> null
                } -> null
              - parts  = [
                  - "lid",
                  - "body",
                ] -> null
              - secret = (sensitive value) -> null
              - size   = 12 -> null

              - rule {
                  - port = 80 -> null
                  - via  = "tcp" -> null
                }

              - zone "z" {
                  - port = 1 -> null
                }
            }

          # kiln_pot.b[2] (deposed object 00000abc) will be destroyed
          # (because index [2] is out of range for count)
          # (left over from a replacement of this instance that did not complete)
          - resource "kiln_pot" "b" {
              - id     = "b" -> null
              - key_wo = (write-only attribute) -> null
              - note   = <<-EOT
                    one
                    two
                EOT -> null
            }

        Plan: 0 to add, 0 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn replacement_names_what_forces_it() {
    let after = r#"{"id": "?", "name": "a", "size": 13, "origin": {"depth": 1, "quarry": "north"}}"#;
    let before = r#"{"id": "pot-1", "name": "a", "size": 12, "origin": {"depth": 0.5, "quarry": "north"}}"#;
    let mut replaced = change("kiln_pot.a", Action::DeleteThenCreate, before, after);
    replaced.replace_paths = vec![
        Path::root().attr("size"),
        Path::root().attr("origin").attr("depth"),
    ];
    replaced.reason = Some(Reason::ReplaceBecauseCannotUpdate);
    replaced.previous_address = Some("kiln_pot.old".parse().unwrap());
    let mut tainted = change("kiln_pot.b", Action::CreateThenDelete, before, before);
    tainted.reason = Some(Reason::ReplaceBecauseTainted);
    check(
        &plan(vec![replaced, tainted]),
        expect![[r#"

        Resource actions of this plan are indicated with these symbols:
        -/+ destroy and then create replacement
        +/- create replacement and then destroy

        Ashlar will perform the following actions:

          # kiln_pot.a must be replaced
          # (moved from kiln_pot.old)
        -/+ resource "kiln_pot" "a" {
              ~ id     = "pot-1" -> (known after apply)
                name   = "a"
              ~ origin = {
                  ~ depth  = 0.5 -> 1 # forces replacement
                    # (1 unchanged attribute hidden)
                }
              ~ size   = 12 -> 13 # forces replacement
                # (1 unchanged attribute hidden)
            }

          # kiln_pot.b is tainted, so must be replaced
        +/- resource "kiln_pot" "b" {
                id     = "pot-1"
                name   = "a"
                # (3 unchanged attributes hidden)
            }

        Plan: 2 to add, 0 to change, 2 to destroy.
    "#]],
    );
}

#[test]
fn a_move_alone_is_told() {
    let mut moved = change("kiln_pot.b", Action::NoOp, FULL, FULL);
    moved.previous_address = Some("kiln_pot.a".parse().unwrap());
    check(
        &plan(vec![change("kiln_pot.x", Action::NoOp, FULL, FULL), moved]),
        expect![[r#"

        Ashlar will perform the following actions:

          # kiln_pot.a has moved to kiln_pot.b
            resource "kiln_pot" "b" {
                id     = "pot-1"
                name   = "a"
                # (8 unchanged attributes hidden)

                # (2 unchanged blocks hidden)
            }

        Plan: 0 to add, 0 to change, 0 to destroy.
    "#]],
    );
}

#[test]
fn an_update_shows_what_changes_and_counts_the_rest() {
    check_update(
        r#"{"id": "pot-1", "size": 1, "fired": true, "labels": {"a": "1", "b": "2", "c": "3"}, "marks": ["x", "y", "z"]}"#,
        r#"{"id": "pot-1", "size": 2, "fired": true, "labels": {"a": "1", "b": "?", "d": "4"}, "marks": ["w", "y", "z"], "note": "n"}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                    id     = "pot-1"
                  ~ labels = {
                      ~ "b" = "2" -> (known after apply)
                      - "c" = "3" -> null
                      + "d" = "4"
                        # (1 unchanged element hidden)
                    }
                  ~ marks  = [
                      + "w",
                      - "x",
                        # (2 unchanged elements hidden)
                    ]
                  + note   = "n"
                  ~ size   = 1 -> 2
                    # (2 unchanged attributes hidden)
                }
        "#]],
    );
}

#[test]
fn lists_show_the_neighbours_of_what_changes() {
    check_update(
        r#"{"parts": ["a", "b", "c", "d", "e", "f"], "any": {"value": [1, {"a": 1, "b": null}], "type": ["tuple", ["number", ["object", {"a": "number", "b": "bool"}]]]}}"#,
        r#"{"parts": ["a", "b", "c", "x", "d", "e", "f"], "any": {"value": "now text", "type": "string"}}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ any    = [
                      - 1,
                      - {
                          - a = 1
                          - b = null
                        },
                    ] -> "now text"
                  ~ parts  = [
                        # (2 unchanged elements hidden)
                        "c",
                      + "x",
                        "d",
                        # (2 unchanged elements hidden)
                    ]
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
}

#[test]
fn text_of_several_lines_is_compared_by_line() {
    check_update(
        r#"{"note": "one\ntwo\nthree\n"}"#,
        r#"{"note": "one\n2\nthree\nEOT\n"}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ note   = <<-EOT_
                        one
                      - two
                      + 2
                        three
                      + EOT
                    EOT_
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
    check_update(
        r#"{"note": "one\ntwo"}"#,
        r#"{"note": "one\ntwo\n"}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ note   = <<-EOT
                        one
                        two
                      + 
                    EOT
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
}

#[test]
fn text_that_holds_json_is_compared_as_json() {
    check_update(
        r#"{"note": "{\"a\":1,\"b\":[1,2,3],\"c\":null}"}"#,
        r#"{"note": "{\"a\":1,\"b\":[1,3],\"d\":\"x\"}"}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ note   = jsonencode(
                      ~ {
                          ~ b = [
                                1,
                              - 2,
                                3,
                            ]
                          - c = null
                          + d = "x"
                            # (1 unchanged attribute hidden)
                        }
                    )
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
    check_update(
        r#"{"note": "{\"a\":1}"}"#,
        r#"{"note": "{ \"a\": 1 }"}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ note   = jsonencode( # whitespace changes
                        {
                            a = 1
                        }
                    )
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
}

#[test]
fn blocks_and_nested_attributes_are_compared_one_by_one() {
    check_update(
        r#"{"rule": [{"port": 80, "via": "tcp"}, {"port": 81, "via": "tcp"}], "seal": [{"port": 1}, {"port": 2}],
            "zone": {"z": {"port": 1}}, "clays": [{"depth": 1, "quarry": "n"}, {"depth": 2}]}"#,
        r#"{"rule": [{"port": 80, "via": "tcp"}, {"port": 82, "via": "?"}, {"port": 9}], "seal": [{"port": 1}, {"port": 3}],
            "zone": {"y": {"port": 2}}, "clays": [{"depth": 1, "quarry": "s"}]}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  ~ clays  = [
                      ~ {
                          ~ quarry = "n" -> "s"
                            # (1 unchanged attribute hidden)
                        },
                      - {
                          - depth = 2 -> null
                        },
                    ]
                    # (1 unchanged attribute hidden)

                  ~ rule {
                      ~ port = 81 -> 82
                      ~ via  = "tcp" -> (known after apply)
                    }
                  + rule {
                      + port = 9
                    }

                  - seal {
                      - port = 2 -> null
                    }
                  + seal {
                      + port = 3
                    }

                  + zone "y" {
                      + port = 2
                    }
                  - zone "z" {
                      - port = 1 -> null
                    }

                    # (2 unchanged blocks hidden)
                }
        "#]],
    );
}

#[test]
fn what_becomes_unknown_shows_what_it_was() {
    let before = r#"{"id": "1", "origin": {"depth": 1}, "clays": [{"depth": 2}], "parts": ["a"], "rule": [{"port": 1}]}"#;
    let mut update = change("kiln_pot.a", Action::Update, before, before);
    let mut parts = update.after.as_entries().unwrap().clone();
    for name in ["origin", "clays", "parts", "rule", "size"] {
        let unknown = Value::unknown(parts[name].ty());
        parts.insert(name.into(), unknown);
    }
    update.after = Value::object_of(parts);
    check(
        &plan(vec![update]),
        expect![[r#"

        Resource actions of this plan are indicated with these symbols:
          ~ update in-place

        Ashlar will perform the following actions:

          # kiln_pot.a will be updated in-place
          ~ resource "kiln_pot" "a" {
              ~ clays  = [
                  - {
                      - depth = 2 -> null
                    },
                ] -> (known after apply)
                id     = "1"
              ~ origin = {
                  ~ depth  = 1 -> (known after apply)
                  + quarry = (known after apply)
                } -> (known after apply)
              ~ parts  = [
                  - "a",
                ] -> (known after apply)
              + size   = (known after apply)
                # (1 unchanged attribute hidden)

              ~ rule (known after apply)
              - rule {
                  - port = 1 -> null
                }
            }

        Plan: 0 to add, 1 to change, 0 to destroy.
    "#]],
    );
}

#[test]
fn sensitive_values_are_hidden_and_turns_are_told() {
    let mut update = change(
        "kiln_pot.a",
        Action::Update,
        r#"{"id": "1", "secret": "hush", "note": "hush, hush", "size": 3, "labels": {"a": "hush"}, "rule": [{"via": "hush"}]}"#,
        r#"{"id": "1", "secret": "hush!", "note": "hush, hush", "size": 3, "labels": {"a": "?"}, "rule": [{"via": "husher"}]}"#,
    );
    let sensitive = |value: &Value, names: &[&str]| {
        let marks: Vec<_> = names
            .iter()
            .map(|name| (Path::root().attr(*name), Marks::SENSITIVE))
            .collect();
        value.clone().mark_paths(&marks)
    };
    update.before = sensitive(&update.before, &["labels", "rule", "note"]);
    update.after = sensitive(&update.after, &["labels", "rule", "size"]);
    // What was sensitive before must not be shown as it goes out of it.
    check(
        &plan(vec![update]),
        expect![[r#"

        Resource actions of this plan are indicated with these symbols:
          ~ update in-place

        Ashlar will perform the following actions:

          # kiln_pot.a will be updated in-place
          ~ resource "kiln_pot" "a" {
                id     = "1"
              ~ labels = (sensitive value)
                # Warning: this will no longer be sensitive, and will be shown from then on; the value itself stays
              ~ note   = (sensitive value)
              ~ secret = (sensitive value)
                # Warning: this becomes sensitive, and will not be shown from then on; the value itself stays
              ~ size   = (sensitive value)
                # (1 unchanged attribute hidden)

              ~ rule {
                  # (sensitive, so not shown)
                }
            }

        Plan: 0 to add, 1 to change, 0 to destroy.
    "#]],
    );
}

#[test]
fn what_providers_say_steers_no_terminal() {
    check_update(
        "{}",
        r#"{"note": "a\u001b[2Jb\nc", "labels": {"\u001b]0;x": "\u202e"}, "name": "${x}\""}"#,
        expect![[r#"
            resource "kiln_pot" "a" {
                  + labels = {
                      + "\x1b]0;x" = "\u202e"
                    }
                  + name   = "${x}\""
                  + note   = "a\x1b[2Jb\nc"
                    # (1 unchanged attribute hidden)
                }
        "#]],
    );
}

#[test]
fn deep_values_end() {
    let deep = format!(
        "{{\"note\": {:?}}}",
        format!("{}1{}", "[".repeat(400), "]".repeat(400))
    );
    let text = render(
        &plan(vec![change("kiln_pot.a", Action::Create, "", &deep)]),
        &schemas(),
        Style::Plain,
    );
    assert!(text.contains("(nested too deep to be shown)"), "{text}");
}

#[test]
fn an_object_without_schema_shows_no_content() {
    let created = change("kiln_pot.a", Action::Create, "", FULL);
    let text = render(&plan(vec![created]), &Schemas::new(), Style::Plain);
    assert!(!text.contains("hush") && !text.contains("ada"), "{text}");
    assert!(text.contains("schema is not at hand"), "{text}");
}
