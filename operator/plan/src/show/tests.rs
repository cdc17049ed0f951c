//! The JSON forms of plans and states, and the redacted one.

use ashlar_state::{OutputState, State};
use ashlar_value::{Marks, Path, Type, Value, json};
use expect_test::{Expect, expect};
use serde_json::{Value as Json, json};

use super::*;
use crate::{
    Check, CheckStatus, OutputChange, Plan, Reason,
    text::sample::{block, change, plan, schemas},
};

/// One member of the plan's JSON.
fn check(plan: &Plan, member: &str, expected: &Json) {
    let json = plan_json(plan, &schemas());
    assert_eq!(json.pointer(member), Some(expected), "{member} of {json:#}");
}

fn one() -> Plan {
    let after = r#"{"id": "?", "name": "a", "parts": ["x", "?"], "labels": {"k": "?", "l": "v"}, "secret": "hush",
        "size": 123456789012345678901234567890.5, "rule": [{"port": 1, "via": "?"}]}"#;
    let mut made = change(
        "module.m[\"k\"].kiln_pot.a[1]",
        Action::DeleteThenCreate,
        r#"{"id": "1"}"#,
        after,
    );
    made.reason = Some(Reason::ReplaceBecauseCannotUpdate);
    made.replace_paths = vec![Path::root().attr("rule").index(Value::number(0)).attr("via")];
    made.previous_address = Some("kiln_pot.old".parse().unwrap());
    made.deposed = Some(ashlar_addr::DeposedKey(1));
    let forgotten = change("data.kiln_pot.d", Action::Delete, r#"{"id": "d"}"#, "");
    plan(vec![forgotten, made])
}

#[test]
fn changes_have_their_places_and_reasons() {
    let plan = one();
    let json = plan_json(&plan, &schemas());
    let mut change = json["resource_changes"][0].clone();
    assert_eq!(json["resource_changes"].as_array().unwrap().len(), 1);
    change.as_object_mut().unwrap().remove("change");
    let expected = json!({
        "address": "module.m[\"k\"].kiln_pot.a[1]", "module_address": "module.m[\"k\"]", "mode": "managed",
        "type": "kiln_pot", "name": "a", "index": 1, "provider_name": "registry.terraform.io/hashicorp/kiln",
        "previous_address": "kiln_pot.old", "deposed": "00000001", "action_reason": "replace_because_cannot_update",
    });
    assert_eq!(change, expected);
    check(
        &plan,
        "/resource_changes/0/change/actions",
        &json!(["delete", "create"]),
    );
    check(
        &plan,
        "/resource_changes/0/change/replace_paths",
        &json!([["rule", 0, "via"]]),
    );
}

#[test]
fn unknown_parts_stand_in_a_tree_of_their_own() {
    let plan = one();
    let at = |member: &str| format!("/resource_changes/0/change/{member}");
    check(&plan, &at("after/parts"), &json!(["x", null]));
    check(&plan, &at("after/labels"), &json!({"l": "v"}));
    let size: Json = serde_json::from_str("123456789012345678901234567890.5").unwrap();
    check(&plan, &at("after/size"), &size);
    assert!(
        plan_json(&plan, &schemas())["resource_changes"][0]["change"]["after"]
            .get("id")
            .is_none()
    );
    check(
        &plan,
        &at("after_unknown"),
        &json!({"id": true, "parts": [false, true], "labels": {"k": true}, "rule": [{"via": true}], "seal": []}),
    );
    check(
        &plan,
        &at("after_sensitive"),
        &json!({"secret": true, "parts": [false, false], "labels": {}, "rule": [{}], "seal": []}),
    );
    check(
        &plan,
        &at("before_sensitive"),
        &json!({"secret": true, "rule": [], "seal": []}),
    );
}

#[test]
fn no_object_is_null_and_not_sensitive() {
    let plan = plan(vec![change("kiln_pot.a", Action::Create, "", r#"{"name": "a"}"#)]);
    check(&plan, "/resource_changes/0/change/before", &Json::Null);
    check(
        &plan,
        "/resource_changes/0/change/before_sensitive",
        &json!(false),
    );
    check(&plan, "/resource_changes/0/change/after_unknown", &json!({}));
}

#[test]
fn unknown_collections_have_the_shape_of_empty_ones() {
    assert_eq!(
        tree::sensitive(&Value::unknown(Type::list(Type::Bool))),
        json!([])
    );
    assert_eq!(tree::sensitive(&Value::unknown(Type::map(Type::Bool))), json!({}));
    assert_eq!(tree::sensitive(&Value::dynamic()), json!(false));
    assert_eq!(
        tree::unknown(&Value::unknown(Type::list(Type::Bool))),
        json!(true)
    );
    let marked = Value::set(
        Type::String,
        vec![Value::string("x").with_marks(Marks::SENSITIVE)],
    );
    assert_eq!(tree::sensitive(&marked), json!(true));
}

#[test]
fn an_object_without_schema_is_sensitive_as_a_whole() {
    let json = plan_json(&one(), &Schemas::new());
    assert_eq!(
        json["resource_changes"][0]["change"]["after_sensitive"],
        json!(true)
    );
}

#[test]
fn outputs_have_one_flag_for_both_sides() {
    let mut plan = plan(Vec::new());
    let change = OutputChange {
        action: Action::Create,
        before: Value::null(Type::Dynamic),
        after: Value::unknown(Type::String),
        sensitive: (false, true),
    };
    plan.outputs.insert("o".into(), change);
    check(
        &plan,
        "/output_changes/o",
        &json!({"actions": ["create"], "before": null, "after_unknown": true, "before_sensitive": true, "after_sensitive": true}),
    );
    check(&plan, "/planned_values/outputs/o", &json!({"sensitive": true}));
    check(&plan, "/applyable", &json!(true));
}

#[test]
fn checks_stand_by_what_declares_them() {
    let mut plan = plan(Vec::new());
    plan.checks = [
        ("check.c", CheckStatus::Unknown),
        ("module.m[0].output.o", CheckStatus::Pass),
        ("kiln_pot.a[\"x.output.y\"]", CheckStatus::Fail),
        ("kiln_pot.a[\"b\"]", CheckStatus::Pass),
        ("kiln_pot.none", CheckStatus::Unknown),
    ]
    .map(|(address, status)| {
        (
            address.to_owned(),
            Check {
                status,
                problems: Vec::new(),
                vacant: address == "kiln_pot.none",
            },
        )
    })
    .into();
    check(
        &plan,
        "/checks",
        &json!([
            {"address": {"kind": "check", "name": "c", "to_display": "check.c"}, "status": "unknown",
             "instances": [{"address": {"to_display": "check.c"}, "status": "unknown"}]},
            {"address": {"kind": "resource", "mode": "managed", "type": "kiln_pot", "name": "a", "to_display": "kiln_pot.a"},
             "status": "fail",
             "instances": [
                {"address": {"to_display": "kiln_pot.a[\"b\"]", "instance_key": "b"}, "status": "pass"},
                {"address": {"to_display": "kiln_pot.a[\"x.output.y\"]", "instance_key": "x.output.y"}, "status": "fail"}]},
            {"address": {"kind": "resource", "mode": "managed", "type": "kiln_pot", "name": "none", "to_display": "kiln_pot.none"},
             "status": "unknown"},
            {"address": {"kind": "output_value", "module": "module.m", "name": "o", "to_display": "module.m.output.o"},
             "status": "pass",
             "instances": [{"address": {"module": "module.m[0]", "to_display": "module.m[0].output.o"}, "status": "pass"}]},
        ]),
    );
}

#[test]
fn planned_values_are_nested_by_module() {
    let plan = plan(vec![
        change("kiln_pot.gone", Action::Delete, r#"{"id": "1"}"#, ""),
        change(
            "module.a.module.b[0].kiln_pot.x",
            Action::Create,
            "",
            r#"{"name": "x", "id": "?"}"#,
        ),
    ]);
    let json = plan_json(&plan, &schemas());
    let module = &json["planned_values"]["root_module"]["child_modules"][0]["child_modules"][0];
    assert_eq!(module["address"], "module.a.module.b[0]");
    assert_eq!(module["resources"][0]["values"]["name"], "x");
    assert!(json["planned_values"]["root_module"].get("resources").is_none());
}

fn state(attributes: &str, version: i64) -> State {
    let sample = change("module.m.kiln_pot.a", Action::NoOp, "", "");
    let value = json::decode(attributes.as_bytes(), &block().ty()).unwrap();
    let object = ashlar_state::Object {
        schema_version: version,
        attributes: json::encode(&value, &block().ty()).unwrap().into(),
        sensitive: vec![Path::root().attr("name")],
        private: Default::default(),
        status: ashlar_state::Status::Tainted,
        dependencies: vec!["kiln_pot.b".parse().unwrap()].into(),
        create_before_destroy: false,
        skip_destroy: false,
        identity: None,
    };
    let mut state = State::default();
    state.set(&sample.address, None, &sample.provider, Some(object.into()));
    state
}

#[test]
fn the_state_has_its_values_and_what_is_sensitive() {
    assert_eq!(
        state_json(&State::default(), &schemas()).unwrap(),
        json!({"format_version": "1.0"})
    );
    let mut state = state(r#"{"name": "a"}"#, 1);
    let output = OutputState {
        value: Value::number(1),
        sensitive: false,
    };
    state.outputs.insert("o".into(), output);
    let json = state_json(&state, &schemas()).unwrap();
    let resource = &json["values"]["root_module"]["child_modules"][0]["resources"][0];
    assert_eq!(resource["address"], "module.m.kiln_pot.a");
    assert_eq!(resource["values"]["name"], "a");
    assert_eq!(resource["sensitive_values"]["name"], true);
    assert_eq!(resource["tainted"], true);
    assert_eq!(resource["depends_on"], json!(["kiln_pot.b"]));
    assert_eq!(
        json["values"]["outputs"]["o"],
        json!({"sensitive": false, "type": "number", "value": 1})
    );
}

#[test]
fn a_state_of_another_schema_version_is_refused() {
    assert!(state_json(&state("{}", 0), &schemas()).unwrap_err().has_errors());
    assert!(
        state_json(&state("{}", 1), &Schemas::new())
            .unwrap_err()
            .has_errors()
    );
}

fn check_redacted(plan: &Plan, expected: Expect) {
    let redacted = redacted_changes(plan, &schemas());
    let lines: Vec<String> = redacted
        .iter()
        .map(|change| {
            let RedactedChange {
                address,
                action,
                reason,
                moved_from,
                imports,
                paths,
            } = change;
            let imports = if *imports { " imports" } else { "" };
            format!(
                "{address} {action:?} {reason:?} {moved_from:?}{imports} {}",
                paths.join(" ")
            )
        })
        .collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn redacted_changes_name_attributes_alone() {
    let before = r#"{"id": "1", "labels": {"hush-key": "hush"}, "origin": {"depth": 1, "quarry": "q"}, "rule": [{"port": 1, "via": "v"}], "size": 1}"#;
    let after = r#"{"id": "1", "labels": {"hush-other": "hush"}, "origin": {"depth": 2, "quarry": "q"}, "rule": [{"port": 1, "via": "w"}, {"port": 3}], "size": 1}"#;
    let mut plan = one();
    plan.changes
        .push(change("kiln_pot.u", Action::Update, before, after));
    plan.changes
        .push(change("kiln_pot.same", Action::NoOp, before, before));
    let mut taken_in = change("kiln_pot.taken", Action::NoOp, before, before);
    taken_in.importing = Some(crate::Importing::Id(Value::string("hush-id")));
    plan.changes.push(taken_in);
    plan.changes
        .push(change("kiln_pot.left", Action::Forget, before, ""));
    check_redacted(
        &plan,
        expect![[r#"
        module.m["k"].kiln_pot.a[1] (deposed 00000001) DeleteThenCreate Some(ReplaceBecauseCannotUpdate) Some("kiln_pot.old") id labels name parts rule.port rule.via secret size
        kiln_pot.u Update None None labels origin.depth rule.port rule.via
        kiln_pot.taken NoOp None None imports 
        kiln_pot.left Forget None None "#]],
    );
    expect!["Plan: 1 to import, 1 to add, 1 to change, 1 to destroy, 1 to forget. Objects moved: 1."]
        .assert_eq(&summary(&plan));
}
