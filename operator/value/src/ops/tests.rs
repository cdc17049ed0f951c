//! One table per operator. The expected values are those of go-cty 1.18.1.

use super::*;
use crate::{Bound, Marks, Number, Refinement, Type, Value, json};

fn number(text: &str) -> Value {
    Value::number(Number::parse(text).unwrap())
}

fn bound(text: &str, inclusive: bool) -> Option<Bound> {
    Some(Bound {
        value: Number::parse(text).unwrap(),
        inclusive,
    })
}

fn between(min: &str, max: &str) -> Value {
    let facts = Refinement {
        min: bound(min, true),
        max: bound(max, true),
        ..Refinement::not_null()
    };
    unknown_refined(Type::Number, facts)
}

fn check(got: Result<Value, OpError>, want: Option<&str>) {
    assert_eq!(got.ok().map(|value| format!("{value:?}")).as_deref(), want);
}

const OPEN: Option<&str> = Some(
    "unknown(bool, Refinement { not_null: true, prefix: None, min: None, max: None, length_min: None, length_max: None })",
);

#[test]
fn equality_needs_equal_types_but_for_null() {
    let check = |a: Value, b: Value, want| check(Ok(equal(&a, &b)), want);
    check(Value::number(1), Value::string("1"), Some("false"));
    check(
        Value::tuple(vec![]),
        Value::list(Type::String, vec![]),
        Some("false"),
    );
    check(Value::null(Type::String), Value::null(Type::Bool), Some("true"));
    check(
        number("0.1"),
        Value::number(Number::from_f64(0.1).unwrap()),
        Some("true"),
    );
    check(number("-0"), number("0"), Some("true"));
}

#[test]
fn equality_of_unknowns_is_decided_by_what_is_known() {
    let check = |a: Value, b: Value, want| check(Ok(equal(&a, &b)), want);
    let prefixed = Refinement {
        prefix: Some("vpc-".into()),
        ..Refinement::not_null()
    };
    let vpc = unknown_refined(Type::String, prefixed);
    check(vpc.clone(), Value::string("vpc-1"), OPEN);
    check(vpc.clone(), Value::string("i-1"), Some("false"));
    check(vpc.clone(), Value::null(Type::Dynamic), Some("false"));
    check(vpc, Value::number(1), Some("false"));
    check(Value::unknown(Type::String), Value::null(Type::Dynamic), OPEN);
    check(Value::dynamic(), Value::number(1), OPEN);
    check(between("1", "3"), Value::number(4), Some("false"));
    let pair = |b: Value| Value::tuple(vec![Value::number(1), b]);
    check(pair(Value::unknown(Type::Bool)), pair(Value::bool(true)), OPEN);
    check(pair(Value::dynamic()), Value::tuple(vec![]), Some("false"));
}

#[test]
fn comparing_with_null_takes_only_outer_marks() {
    let inner = Value::tuple(vec![Value::bool(true).with_marks(Marks::SENSITIVE)]);
    assert!(equal(&inner, &Value::null(Type::Dynamic)).marks().is_empty());
    assert_eq!(equal(&inner, &inner).marks(), Marks::SENSITIVE);
    let outer = inner.with_marks(Marks::EPHEMERAL);
    assert_eq!(
        equal(&outer, &Value::null(Type::Dynamic)).marks(),
        Marks::EPHEMERAL
    );
}

#[test]
fn logic_is_decided_by_one_side_where_possible() {
    let unknown = Value::unknown(Type::Bool);
    check(and(&unknown, &Value::bool(false)), Some("false"));
    check(and(&unknown, &Value::bool(true)), OPEN);
    check(or(&Value::dynamic(), &Value::bool(true)), Some("true"));
    check(not(&Value::bool(true)), Some("false"));
    check(and(&Value::null(Type::Bool), &Value::bool(false)), None);
    check(not(&Value::string("true")), None);
    let secret = Value::bool(false).with_marks(Marks::SENSITIVE);
    assert_eq!(and(&secret, &unknown).unwrap().marks(), Marks::SENSITIVE);
}

#[test]
fn arithmetic_on_unknowns_keeps_bounds() {
    assert_eq!(
        add(&between("1", "3"), &Value::number(2)).unwrap(),
        between("3", "5")
    );
    assert_eq!(
        multiply(&between("1", "3"), &Value::number(-2)).unwrap(),
        between("-6", "-2")
    );
    assert_eq!(
        divide(&between("1", "3"), &Value::number(2)).unwrap(),
        refine_not_null(Value::unknown(Type::Number))
    );
    check(divide(&Value::number(1), &Value::number(0)), Some("+Inf"));
    check(divide(&Value::number(0), &Value::number(0)), None);
    check(add(&Value::null(Type::Number), &Value::number(1)), None);
    check(less(&between("1", "3"), &Value::number(4)), Some("true"));
    check(less(&between("1", "3"), &Value::number(0)), Some("false"));
    check(less(&between("1", "3"), &Value::number(2)), OPEN);
}

#[test]
fn refinements_collapse_to_the_only_value_left() {
    let exact = |ty: Type, length| {
        let facts = Refinement {
            length_min: Some(length),
            length_max: Some(length),
            ..Refinement::not_null()
        };
        Ok(unknown_refined(ty, facts))
    };
    check(
        exact(Type::list(Type::Bool), 2),
        Some("list[unknown(bool), unknown(bool)]"),
    );
    check(exact(Type::map(Type::Bool), 0), Some("map{}"));
    check(exact(Type::set(Type::Bool), 1), Some("set[unknown(bool)]"));
    assert!(!exact(Type::list(Type::Bool), 1 << 40).unwrap().is_known());
    check(Ok(between("2", "2")), Some("2"));
    let contradiction = Refinement {
        max: bound("0", true),
        ..Refinement::default()
    };
    check(refine(between("1", "2"), &contradiction), None);
    check(refine(Value::number(5), &contradiction), Some("5"));
}

#[test]
fn elements_are_reached_by_key() {
    let secret = Value::string("a").with_marks(Marks::SENSITIVE);
    let object = Value::object([("a", Value::number(1))]);
    let map = Value::map(Type::Number, [("a", Value::number(1))]);
    assert!(index(&object, &secret).unwrap().marks().is_empty());
    assert_eq!(index(&map, &secret).unwrap().marks(), Marks::SENSITIVE);
    let list = Value::list(Type::Bool, vec![Value::bool(true)]);
    check(index(&list, &Value::number(1)), None);
    check(index(&list, &number("0.5")), None);
    check(index(&list, &Value::unknown(Type::Number)), Some("unknown(bool)"));
    check(index(&Value::dynamic(), &Value::number(0)), Some("unknown(any)"));
    check(index(&Value::set(Type::Bool, vec![]), &Value::bool(true)), None);
    check(Ok(has_index(&list, &Value::number(-1))), Some("false"));
    check(Ok(has_index(&Value::unknown(list.ty()), &Value::number(0))), OPEN);
    check(
        has_element(
            &Value::set(Type::Bool, vec![Value::bool(true)]),
            &Value::bool(true),
        ),
        Some("true"),
    );
    check(get_attr(&object, "b"), None);
}

#[test]
fn a_set_with_unknowns_has_no_certain_length() {
    let set = Value::set(Type::Number, vec![Value::number(1), Value::unknown(Type::Number)]);
    assert_eq!(length(&set), between("1", "2"));
    check(
        Ok(length(&Value::set(
            Type::Number,
            vec![Value::unknown(Type::Number)],
        ))),
        Some("1"),
    );
}

/// What a set of these members looks like.
fn check_set(members: &str, want: &str) {
    let members = json::decode_implied(members.as_bytes()).unwrap();
    let set = set_of(members.as_items().unwrap().to_vec()).unwrap();
    assert_eq!(format!("{set:?}"), want);
}

#[test]
fn set_order_is_that_of_cty() {
    check_set("[10, 2, 2.0, -1]", "set[-1, 2, 10]");
    check_set("[0, -0, 0]", "set[-0, 0]");
    check_set(r#"["b", "a", "B", "a"]"#, r#"set["B", "a", "b"]"#);
    check_set(r#"[{"a":2}, {"a":10}, {"a":2}]"#, r#"set[{"a": 10}, {"a": 2}]"#);
    check_set("[true, null, false]", "set[false, true, null(bool)]");
    // Ten digits decide the order, all digits whether members are one.
    check_set(
        "[[12345678901], [12345678902], [12345678901]]",
        "set[[12345678901], [12345678902]]",
    );
}

#[test]
fn large_sets_take_no_quadratic_time() {
    let members = (0..100_000)
        .map(|at| Value::tuple(vec![Value::number(at % 50_000)]))
        .collect();
    let set = set_of(members).unwrap();
    assert_eq!(set.as_items().unwrap().len(), 50_000);
    assert_eq!(equal(&set, &set), Value::bool(true));
}

#[test]
fn prefixes_lose_what_later_text_could_change() {
    let check = |text: &str, want: &str| assert_eq!(safe_prefix(text), want, "{text:?}");
    check("vpc-", "vpc-");
    check("vpc-1", "vpc-");
    check("e", "");
    check("日本", "日");
    check("a\nb-", "a");
    check("a-\nbc", "a-\nb");
    check("語\u{1161}", "");
}
