//! The parts of the text around the objects: outputs, drift, nothing to do, colours.

use ashlar_config::TriggerEvent;
use ashlar_state::OutputState;
use ashlar_value::{Type, json};

use super::*;
use crate::Invocation;

fn output(action: Action, before: &str, after: &str, sensitive: (bool, bool)) -> OutputChange {
    let value = |text: &str| json::decode_implied(text.as_bytes()).unwrap();
    OutputChange {
        action,
        before: value(before),
        after: value(after),
        sensitive,
    }
}

#[test]
fn outputs_stand_last() {
    let mut only_outputs = plan(Vec::new());
    only_outputs.outputs = [
        (
            "added",
            output(
                Action::Create,
                "null",
                r#"{"a": [1, null], "b c": "x"}"#,
                (false, false),
            ),
        ),
        (
            "changed",
            output(
                Action::Update,
                r#"{"a": 1, "b": 2}"#,
                r#"{"a": 1, "b": "two"}"#,
                (false, false),
            ),
        ),
        ("gone", output(Action::Delete, "[1]", "null", (false, false))),
        ("same", output(Action::NoOp, "1", "1", (false, false))),
        (
            "secret",
            output(Action::Update, "\"hush\"", "\"hush, hush\"", (true, true)),
        ),
        (
            "shown",
            output(Action::Update, "\"hush\"", "\"hush\"", (true, false)),
        ),
    ]
    .map(|(name, change)| (Arc::from(name), change))
    .into();
    only_outputs.outputs.insert(
        "unknown".into(),
        OutputChange {
            after: Value::unknown(Type::String),
            ..output(Action::Create, "null", "null", (false, false))
        },
    );
    check(
        &only_outputs,
        expect![[r#"

        Changes to Outputs:
          + added   = {
              + a     = [
                  + 1,
                  + null,
                ]
              + "b c" = "x"
            }
          ~ changed = {
              ~ b = 2 -> "two"
                # (1 unchanged attribute hidden)
            }
          - gone    = [
              - 1,
            ] -> null
          ~ secret  = (sensitive value)
          ~ shown   = (sensitive value)
          + unknown = (known after apply)

        Applying this plan saves the new output values in the state; it changes no real object.
    "#]],
    );
}

#[test]
fn drift_is_told_where_it_matters() {
    let drift = change(
        "kiln_pot.a",
        Action::Update,
        r#"{"id": "1", "size": 1}"#,
        r#"{"id": "1", "size": 2}"#,
    );
    let mut empty = plan(Vec::new());
    empty.drift = vec![drift.clone()];
    check(
        &empty,
        expect![[r#"

        No changes. Your infrastructure matches the configuration.

        The real objects were compared with the configuration, and nothing needs to change.
    "#]],
    );
    empty.options.mode = Mode::RefreshOnly;
    empty
        .drift
        .push(change("kiln_pot.b", Action::Delete, r#"{"id": "2"}"#, ""));
    check(
        &empty,
        expect![[r#"

            Note: Objects have changed outside of Ashlar

            Since the last apply these objects were changed by something else, which may have affected this plan:

              # kiln_pot.a has changed
              ~ resource "kiln_pot" "a" {
                    id     = "1"
                  ~ size   = 1 -> 2
                    # (1 unchanged attribute hidden)
                }

              # kiln_pot.b has been deleted
              - resource "kiln_pot" "b" {
                  - id     = "2" -> null
                  - key_wo = (write-only attribute) -> null
                }

            This is a refresh-only plan: it undoes none of this. If these changes are as expected, apply it to record them in the state.
        "#]],
    );
    let mut acting = plan(vec![change(
        "kiln_pot.a",
        Action::Update,
        r#"{"id": "1", "size": 2}"#,
        r#"{"id": "1", "size": 1}"#,
    )]);
    acting.drift = vec![drift];
    let text = render(&acting, &schemas(), Style::Plain);
    let note = text.find("Objects have changed outside of Ashlar").unwrap();
    assert!(note < text.find("will be updated in-place").unwrap());
}

#[test]
fn nothing_to_do_and_failure_are_told() {
    let mut destroy = plan(Vec::new());
    destroy.options.mode = Mode::Destroy;
    check(
        &destroy,
        expect![[r#"

        No changes. No objects need to be destroyed.

        Either none was created yet, or all are gone already.
    "#]],
    );
    let mut failed = plan(Vec::new());
    failed.errored = true;
    check(
        &failed,
        expect![[r#"

        Planning failed. Ashlar encountered an error while generating this plan.
    "#]],
    );
}

#[test]
fn colour_only_where_asked() {
    let plan = plan(vec![change("kiln_pot.a", Action::Create, "", FULL)]);
    let coloured = render(&plan, &schemas(), Style::Colour);
    assert!(coloured.contains("\u{1b}[32m+\u{1b}[0m"), "{coloured}");
    let mut plain = String::new();
    let mut rest = &*coloured;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = rest[at..].split_once('m').unwrap().1;
    }
    plain.push_str(rest);
    assert_eq!(plain, render(&plan, &schemas(), Style::Plain));
}

#[test]
fn final_outputs_hide_what_is_sensitive() {
    let output = |value: Value, sensitive| OutputState { value, sensitive };
    let mut state = State::default();
    assert_eq!(outputs(&state, Style::Plain), "");
    state.outputs = [
        (
            "list",
            output(Value::list(Type::String, vec![Value::string("x")]), false),
        ),
        ("secret", output(Value::string("hush"), true)),
        (
            "text",
            output(object(r#"{"name": "n"}"#).attr("name").unwrap(), false),
        ),
    ]
    .map(|(name, output)| (Arc::from(name), output))
    .into();
    expect![[r#"
        Outputs:

        list = tolist([
          "x",
        ])
        secret = <sensitive>
        text = "n"
    "#]]
    .assert_eq(&outputs(&state, Style::Plain));
}

#[test]
fn actions_stand_with_the_change_that_triggers_them_and_asked_ones_by_themselves() {
    let invocation = |name: &str, event: Option<TriggerEvent>, config: &str| Invocation {
        action: format!("action.kiln_fire.{name}").parse().unwrap(),
        trigger: event.map(|event| crate::Trigger {
            resource: "kiln_pot.a".parse().unwrap(),
            block: 0,
            at: 0,
            event,
        }),
        provider: "provider[\"registry.terraform.io/hashicorp/kiln\"]"
            .parse()
            .unwrap(),
        config: if config.is_empty() {
            Value::null(super::super::sample::block().ty())
        } else {
            object(config)
        },
    };
    let mut triggered = plan(vec![change("kiln_pot.a", Action::Create, "", r#"{"name": "a"}"#)]);
    let config = r#"{"note": "?", "secret": "hush", "rule": [{"port": 80}]}"#;
    triggered.invocations = vec![
        invocation("f", Some(TriggerEvent::BeforeCreate), config),
        invocation("f", Some(TriggerEvent::AfterCreate), r#"{"size": 2}"#),
        invocation("g", Some(TriggerEvent::AfterCreate), ""),
    ];
    check(
        &triggered,
        expect![[r#"

            Resource actions of this plan are indicated with these symbols:
              + create

            Ashlar will perform the following actions:

              # kiln_pot.a will be created
              + resource "kiln_pot" "a" {
                  + key_wo = (write-only attribute)
                  + name   = "a"
                }

                # Actions to be invoked before this change, in this order:
                action "kiln_fire" "f" {
                    config {
                        key_wo = (write-only attribute)
                        note   = (known after apply)
                        secret = (sensitive value)

                        rule {
                            port = 80
                        }
                    }
                }

                # Actions to be invoked after this change, in this order:
                action "kiln_fire" "f" {
                    config {
                        key_wo = (write-only attribute)
                        size   = 2
                    }
                }
                action "kiln_fire" "g" {
                }

            Plan: 1 to add, 0 to change, 0 to destroy. Actions: 3 to invoke.
        "#]],
    );
    let mut asked = plan(Vec::new());
    asked.options.mode = Mode::RefreshOnly;
    asked.invocations = vec![invocation("f", None, r#"{"size": 2}"#)];
    assert!(asked.is_applyable());
    check(
        &asked,
        expect![[r#"

        Ashlar will perform the following actions:

          # action.kiln_fire.f will be invoked
            action "kiln_fire" "f" {
                config {
                    key_wo = (write-only attribute)
                    size   = 2
                }
            }

        Plan: 0 to add, 0 to change, 0 to destroy. Actions: 1 to invoke.
    "#]],
    );
}
