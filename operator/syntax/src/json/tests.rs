//! Texts and what is told of them, trees with the text they span, and how bodies are read.

use ashlar_diag::{Sources, Span};

use super::{Reading, Wanted};
use crate::{Body, ExprKind, Step, parse_file};

fn read(text: &str) -> (Body, Vec<String>) {
    let mut sources = Sources::new();
    let file = sources.add("main.tf.json", text);
    let (body, diags) = parse_file(&sources, file);
    let told = diags
        .iter()
        .map(|diag| told(&sources, &diag.summary, diag.subject));
    (body, told.collect())
}

fn told(sources: &Sources, summary: &str, at: Option<Span>) -> String {
    match at.and_then(|span| sources.place(span)) {
        Some(place) => format!("{summary} {}:{}", place.start.line, place.start.column),
        None => summary.to_owned(),
    }
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(read(text).1, expected, "{text:?}");
}

/// Reads with an argument `a` and blocks `b` of one label.
fn content(text: &str) -> Reading {
    let (body, told) = read(text);
    assert_eq!(told, Vec::<String>::new(), "{text}");
    body.unread.unwrap().read(|name| match name {
        "a" => Some(Wanted::Argument),
        "b" => Some(Wanted::Blocks(&["name"])),
        _ => None,
    })
}

/// The place of an argument's string, and the text that the parts of its reference blame.
fn blamed(text: &str) -> Vec<String> {
    let reading = content(text);
    let expr = &reading.attributes[0].expr;
    let show = |span: Span| text[span.start as usize..span.end as usize].to_owned();
    if let ExprKind::JsonString(string) = &expr.kind
        && let Ok(Some(template)) = string.template()
    {
        let mut shown = vec![show(template.span)];
        let parts = match &template.kind {
            ExprKind::Wrap(inner) => std::slice::from_ref(&**inner),
            ExprKind::Template(parts) => parts,
            other => panic!("{other:?}"),
        };
        shown.extend(parts.iter().map(|part| show(part.span)));
        return shown;
    }
    let path = expr.as_traversal().unwrap();
    let steps = path.steps.iter().map(Step::span);
    std::iter::once(path.root.span).chain(steps).map(show).collect()
}

#[test]
fn places_inside_strings_are_those_of_the_file() {
    assert_eq!(
        blamed(r#"{ "a": "x\n\u00e9 ${var.a}\t${var.b}" }"#),
        [
            r"x\n\u00e9 ${var.a}\t${var.b}",
            r"x\n\u00e9 ",
            "var.a",
            r"\t",
            "var.b"
        ]
    );
    assert_eq!(
        blamed(r#"{ "a": "${f(\"\\\"\", [\n1])}" }"#)[1],
        r#"f(\"\\\"\", [\n1])"#
    );
    // hcl counts references from the quote.
    assert_eq!(blamed(r#"{ "a": "aws.west" }"#), ["\"aw", "s.wes"]);
    assert_eq!(
        blamed(r#"{ "a": "aws[\"\u00e9\"].b" }"#),
        ["\"aw", r#"s[\"\u00e9\""#, "]."]
    );
}

#[test]
fn a_string_is_what_it_is_taken_for() {
    let reading = content(r#"{ "a": " all " }"#);
    assert_eq!(reading.attributes[0].expr.keyword(), Some("all"));
    let reading = content(r#"{ "a": "list(string)" }"#);
    let expr = &reading.attributes[0].expr;
    let (inner, faults) = expr.in_json_string().unwrap();
    assert!(faults.is_empty() && matches!(inner.kind, ExprKind::Call(_)));
    assert!(expr.as_traversal().is_none());
    for text in [
        "{ \"a\": null }",
        "{ \"a\": true }",
        "{ \"a\": 1 }",
        "{ \"a\": [] }",
        "{ \"a\": \"${b}\" }",
    ] {
        let reading = content(text);
        let expr = &reading.attributes[0].expr;
        assert!(
            expr.keyword().is_none() && expr.as_traversal().is_none(),
            "{text}"
        );
    }
}

#[test]
fn a_body_is_what_its_reader_wants() {
    let reading = content(
        r#"[{ "a": 1, "//": 2, "b": { "x": [{}, 5], "y": null } }, { "c": 3, "b": [{ "z": {} }, { "x": [] }], "a": 4 }]"#,
    );
    let labels: Vec<&str> = reading
        .blocks
        .iter()
        .map(|block| &*block.labels[0].name)
        .collect();
    assert_eq!(labels, ["x", "x", "z"]);
    let rest: Vec<&str> = reading
        .rest
        .properties()
        .map(|property| &*property.name.name)
        .collect();
    assert_eq!(rest, ["c"]);
    let faults: Vec<&str> = reading.faults.iter().map(|diag| &*diag.summary).collect();
    assert_eq!(faults, ["Duplicate argument"]);
}

#[test]
fn arguments_alone_stand_in_one_object() {
    let (body, _) = read(r#"{ "x": 1, "//": 2, "y": 3, "x": 4 }"#);
    let (attributes, faults) = body.unread.unwrap().arguments();
    assert_eq!((attributes.len(), faults.len()), (2, 1));
    let (body, _) = read(r#"[{ "x": 1 }]"#);
    let (attributes, faults) = body.unread.unwrap().arguments();
    assert_eq!(
        (attributes.len(), &*faults[0].summary),
        (0, "Incorrect JSON value type")
    );
}

#[test]
fn several_faults_are_told_and_what_was_understood_is_kept() {
    check(
        r#"{ "a": [True, 01, "\x"], "b": { "c" }, "d": nul }"#,
        &[
            "Invalid JSON keyword 1:9",
            "Invalid JSON number 1:15",
            "Invalid JSON string 1:22",
            "Missing object value 1:37",
            "Invalid JSON keyword 1:45",
        ],
    );
    let (body, _) = read(r#"{ "a": [True], "b": { "c" }, "d": nul }"#);
    let names = body.unread.unwrap().arguments().0;
    let names: Vec<&str> = names.iter().map(|argument| &*argument.name.name).collect();
    assert_eq!(names, ["a", "b", "d"]);
    check("", &["Missing value 1:1", "Root value must be object 1:1"]);
    check("{} {}", &["Extraneous data after value 1:4"]);
}

#[test]
fn nesting_is_limited_and_said_once() {
    let deep = |levels: usize| format!("{{ \"a\": {}1{} }}", "[".repeat(levels), "]".repeat(levels));
    check(&deep(399), &[]);
    assert_eq!(read(&deep(400)).1, ["Excessive nesting 1:407"]);
    assert_eq!(read(&"[".repeat(1_000_000)).1, ["Excessive nesting 1:401"]);
    assert_eq!(read(&"{\"a\":".repeat(100_000)).1.len(), 1);
}

#[test]
fn long_texts_take_time_in_proportion() {
    let many: Vec<String> = (0..50_000)
        .map(|at| format!("\"k{at}\": \"\\u00e9${{var.a}}\""))
        .collect();
    let reading = content(&format!("{{ {} }}", many.join(", ")));
    assert_eq!(reading.rest.properties().count(), 50_000);
    let long = format!("{{ \"a\": \"{}\" }}", "\\n${1}".repeat(50_000));
    assert_eq!(content(&long).attributes.len(), 1);
    // A file of faults.
    assert!(!read(&"{ \"a\" ".repeat(50_000)).1.is_empty());
}
