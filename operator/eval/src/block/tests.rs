//! Bodies against schemas.

use std::collections::BTreeMap;

use ashlar_value::{
    Marks, Path, Type, Value,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
};

use crate::{
    MapScope, block_references, decode_block,
    fixture::{blamed, body},
    locate, validate_block,
};

fn attribute(ty: Type, required: bool) -> Attribute {
    Attribute {
        ty: AttributeType::Plain(ty),
        required,
        optional: !required,
        computed: false,
        sensitive: false,
        write_only: false,
        deprecated: None,
    }
}

fn block(attributes: &[(&str, Attribute)], blocks: &[(&str, Nesting, Block)]) -> Block {
    let attributes = attributes
        .iter()
        .map(|(name, attribute)| ((*name).into(), attribute.clone()));
    let blocks = blocks.iter().map(|(name, nesting, block)| {
        let nested = NestedBlock {
            nesting: *nesting,
            block: block.clone(),
            min_items: 0,
            max_items: 2,
        };
        ((*name).into(), nested)
    });
    Block {
        attributes: attributes.collect(),
        blocks: blocks.collect(),
        ..Block::default()
    }
}

fn schema() -> Block {
    let port = block(&[("number", attribute(Type::Number, true))], &[]);
    let any = block(&[("value", attribute(Type::Dynamic, false))], &[]);
    block(
        &[
            ("name", attribute(Type::String, true)),
            ("tags", attribute(Type::map(Type::String), false)),
        ],
        &[
            ("port", Nesting::List, port.clone()),
            ("kept", Nesting::Set, port.clone()),
            ("by", Nesting::Map, port.clone()),
            ("one", Nesting::Single, port.clone()),
            ("group", Nesting::Group, any.clone()),
            ("free", Nesting::List, any),
        ],
    )
}

fn scope() -> MapScope {
    let var = Value::object([
        (
            "ports",
            Value::list(Type::Number, vec![Value::number(1i64), Value::number(2i64)]),
        ),
        (
            "secret",
            Value::list(Type::Number, vec![Value::number(1i64)]).with_marks(Marks::SENSITIVE),
        ),
        ("later", Value::unknown(Type::list(Type::Number))),
    ]);
    MapScope::new([("var", var)])
}

fn port(number: i64) -> Value {
    Value::object([("number", Value::number(number))])
}

/// The block's value with `changes` to the attributes that an empty block gives.
fn check(text: &str, changes: &[(&str, Value)]) {
    let (value, diags) = decode_block(&body(text), &schema(), &scope());
    assert!(!diags.has_errors(), "{text}: {diags}");
    let port = Type::object([("number", Type::Number)]);
    let mut expected: BTreeMap<&str, Value> = BTreeMap::from([
        ("name", Value::string("n")),
        ("tags", Value::null(Type::map(Type::String))),
        ("port", Value::list(port.clone(), Vec::new())),
        ("kept", Value::set(port.clone(), Vec::new())),
        ("by", Value::map::<&str>(port.clone(), [])),
        ("one", Value::null(port)),
        ("group", Value::object([("value", Value::null(Type::Dynamic))])),
        ("free", Value::tuple(Vec::new())),
    ]);
    expected.extend(changes.iter().map(|(name, value)| (*name, value.clone())));
    assert_eq!(value, Value::object(expected), "{text}");
}

fn check_faults(text: &str, expected: &[&str]) {
    let (_, diags) = decode_block(&body(text), &schema(), &scope());
    assert_eq!(blamed(&diags, text), expected, "{text}");
}

fn ports(items: Vec<Value>) -> Value {
    Value::list(Type::object([("number", Type::Number)]), items)
}

#[test]
fn arguments_and_blocks_by_nesting() {
    check("name = \"n\"", &[]);
    check(
        "name = \"n\"\ntags = { a = 1 }",
        &[("tags", Value::map(Type::String, [("a", Value::string("1"))]))],
    );
    check(
        "name = \"n\"\nport {\n  number = \"3\"\n}",
        &[("port", ports(vec![port(3)]))],
    );
    check("name = \"n\"\none {\n  number = 3\n}", &[("one", port(3))]);
    check(
        "name = \"n\"\nby \"k\" {\n  number = 3\n}",
        &[(
            "by",
            Value::map(Type::object([("number", Type::Number)]), [("k", port(3))]),
        )],
    );
    check(
        "name = \"n\"\nfree {\n  value = 1\n}\nfree {\n  value = \"a\"\n}",
        &[(
            "free",
            Value::tuple(vec![
                Value::object([("value", Value::number(1i64))]),
                Value::object([("value", Value::string("a"))]),
            ]),
        )],
    );
}

#[test]
fn dynamic_blocks_expand() {
    let dynamic = |each: &str| {
        format!(
            "name = \"n\"\ndynamic \"port\" {{\n  for_each = {each}\n  content {{\n    number = port.value\n  }}\n}}"
        )
    };
    check(&dynamic("var.ports"), &[("port", ports(vec![port(1), port(2)]))]);
    check(&dynamic("[]"), &[]);
    check(
        &dynamic("var.later"),
        &[(
            "port",
            Value::unknown(Type::list(Type::object([("number", Type::Number)]))),
        )],
    );
    let hidden = Value::object([("number", Value::number(1i64).with_marks(Marks::SENSITIVE))]);
    check(
        &dynamic("var.secret"),
        &[("port", ports(vec![hidden.with_marks(Marks::SENSITIVE)]))],
    );
    check_faults(&dynamic("null"), &["Invalid dynamic for_each value @ null"]);
    check_faults(&dynamic("1"), &["Invalid dynamic for_each value @ 1"]);
    check(
        "name = \"n\"\ndynamic \"by\" {\n  for_each = { k = 4 }\n  iterator = it\n  labels = [it.key]\n  content {\n    number = \
         it.value\n  }\n}",
        &[(
            "by",
            Value::map(Type::object([("number", Type::Number)]), [("k", port(4))]),
        )],
    );
}

#[test]
fn what_does_not_fit_is_blamed() {
    check_faults(
        "nam = 1",
        &["Unsupported argument @ nam", "Missing required argument @ "],
    );
    check_faults("name = \"n\"\nports {\n}", &["Unsupported block type @ ports"]);
    check_faults("name = [1]", &["Incorrect attribute value type @ [1]"]);
    check_faults("name = \"n\"\nport {\n}", &["Missing required argument @ "]);
    check_faults(
        "name = \"n\"\nport \"x\" {\n  number = 1\n}",
        &["Extraneous label for port @ \"x\""],
    );
    check_faults("name = \"n\"\nby {\n  number = 1\n}", &["Missing key for by @ {"]);
    let three = "name = \"n\"\n".to_owned() + &"port {\n  number = 1\n}\n".repeat(3);
    check_faults(&three, &["Too many port blocks @ "]);
    let two = "name = \"n\"\n".to_owned() + &"one {\n  number = 1\n}\n".repeat(2);
    check_faults(&two, &["Duplicate one block @ one"]);
    check_faults(
        "name = \"n\"\ndynamic \"port\" {\n  for_each = []\n}",
        &["Missing dynamic content block @ "],
    );
    check_faults(
        "name = \"n\"\ndynamic \"x\" {\n  for_each = []\n  content {}\n}",
        &["Unsupported block type @ \"x\""],
    );
}

#[test]
fn static_checks_need_no_values() {
    let text = "name = nope.x\nport {\n  nmber = 1\n}";
    let diags = validate_block(&body(text), &schema());
    assert_eq!(
        blamed(&diags, text),
        ["Unsupported argument @ nmber", "Missing required argument @ "]
    );
}

#[test]
fn attributes_that_are_lists_of_objects_may_be_blocks() {
    let item = Type::object([("a", Type::String)]);
    let old = block(&[("item", attribute(Type::list(item.clone()), false))], &[]);
    let check = |text: &str, expected: Value| {
        let (value, diags) = decode_block(&body(text), &old, &scope());
        assert!(!diags.has_errors(), "{text}: {diags}");
        assert_eq!(value, Value::object([("item", expected)]), "{text}");
    };
    let one = Value::list(item.clone(), vec![Value::object([("a", Value::string("x"))])]);
    check("item {\n  a = \"x\"\n}", one.clone());
    check("item = [{ a = \"x\" }]", one);
    check("", Value::null(Type::list(item.clone())));
    check("item = []", Value::list(item, Vec::new()));
}

#[test]
fn references_leave_iterators_out() {
    let text = "name = a.b\ndynamic \"port\" {\n  for_each = c.d\n  content {\n    number = port.value + e.f\n  }\n}";
    let body = body(text);
    let (references, diags) = block_references(&body, &schema());
    assert!(diags.is_empty());
    let roots: Vec<&str> = references
        .iter()
        .map(|reference| &*reference.traversal.root.name)
        .collect();
    assert_eq!(roots, ["a", "c", "e"]);
}

#[test]
fn paths_lead_to_source() {
    let text = "name = \"n\"\ntags = { a = 1, b = 2 }\nport {\n  number = 3\n}\nby \"k\" {\n  number = 4\n}";
    let body = body(text);
    let check = |path: Path, expected: &str| {
        let span = locate(&body, &path).unwrap();
        assert_eq!(&text[span.start as usize..span.end as usize], expected, "{path}");
    };
    check(Path::root().attr("name"), "\"n\"");
    check(Path::root().attr("tags").index(Value::string("b")), "2");
    check(
        Path::root().attr("tags").index(Value::string("z")),
        "{ a = 1, b = 2 }",
    );
    check(
        Path::root()
            .attr("port")
            .index(Value::number(0i64))
            .attr("number"),
        "3",
    );
    check(
        Path::root().attr("by").index(Value::string("k")).attr("number"),
        "4",
    );
    check(Path::root().attr("by").index(Value::string("k")), "by \"k\"");
    check(Path::root().attr("absent"), "");
}
