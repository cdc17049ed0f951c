//! JSON beyond the recorded cases.

use crate::{Type, Value, json};

fn check(text: &str, want: Option<&str>) {
    let got = json::decode_implied(text.as_bytes());
    assert_eq!(
        got.ok().map(|value| format!("{value:?}")).as_deref(),
        want,
        "{text}"
    );
}

#[test]
fn types_are_implied() {
    check(
        r#"{"a":[1,"x",null,{"b":true}]}"#,
        Some(r#"{"a": [1, "x", null(any), {"b": true}]}"#),
    );
    check(r#"{"a":1,"a":2}"#, Some(r#"{"a": 2}"#));
    check(r#"{"a":1,"a":"x"}"#, None);
    check(r#"[1,2"#, None);
    check(r#"[1,]"#, None);
    check(r#"1 2"#, None);
    check("\"\\ud83d\\ude00\"", Some("\"😀\""));
}

#[test]
fn depth_is_bounded_without_using_the_stack() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    assert!(json::decode_implied(deep(500).as_bytes()).is_ok());
    assert!(json::decode_implied(deep(100_000).as_bytes()).is_err());
    let ty = "[\"list\",".repeat(100_000);
    assert!(json::type_from_text(ty.as_bytes()).is_err());
    let skipped = format!(r#"{{"value":{},"type":"string"}}"#, deep(100_000));
    assert!(json::decode(skipped.as_bytes(), &Type::Dynamic).is_err());
}

#[test]
fn what_is_written_is_read_back() {
    let value = Value::object([
        ("n", Value::number(crate::Number::parse("0.1").unwrap())),
        ("s", Value::string("<&>\u{2028}\u{7f}\x01")),
        ("l", Value::list(Type::Bool, vec![Value::bool(true)])),
    ]);
    let text = json::encode(&value, &Type::Dynamic).unwrap();
    assert_eq!(
        String::from_utf8(text.clone()).unwrap(),
        "{\"value\":{\"l\":[true],\"n\":0.1,\"s\":\"\\u003c\\u0026\\u003e\\u2028\u{7f}\\u0001\"},\
         \"type\":[\"object\",{\"l\":[\"list\",\"bool\"],\"n\":\"number\",\"s\":\"string\"}]}"
    );
    assert_eq!(json::decode(&text, &Type::Dynamic).unwrap(), value);
}
