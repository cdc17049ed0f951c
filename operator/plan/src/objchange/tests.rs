//! The rules on small schemas, one table per rule.

use std::collections::BTreeMap;

use ashlar_value::{
    Data, Marks, Path, Refinement, Type, Value,
    ops::unknown_refined,
    schema::{Attribute, AttributeType, Block, NestedBlock, Nesting},
};

use super::*;

fn attribute(ty: AttributeType, flags: &str) -> Attribute {
    Attribute {
        ty,
        required: flags.contains('r'),
        optional: flags.contains('o'),
        computed: flags.contains('c'),
        sensitive: flags.contains('s'),
        write_only: flags.contains('w'),
        deprecated: None,
    }
}

fn plain(flags: &str) -> Attribute {
    attribute(AttributeType::Plain(Type::String), flags)
}

fn typed(ty: Type, flags: &str) -> Attribute {
    attribute(AttributeType::Plain(ty), flags)
}

fn nested(nesting: Nesting, flags: &str, inner: &[(&str, Attribute)]) -> Attribute {
    attribute(
        AttributeType::Nested {
            nesting,
            attributes: attributes(inner),
        },
        flags,
    )
}

fn attributes(list: &[(&str, Attribute)]) -> BTreeMap<std::sync::Arc<str>, Attribute> {
    list.iter()
        .map(|(name, attribute)| ((*name).into(), attribute.clone()))
        .collect()
}

fn block(list: &[(&str, Attribute)]) -> Block {
    Block {
        attributes: attributes(list),
        ..Block::default()
    }
}

fn with_blocks(list: &[(&str, Attribute)], blocks: &[(&str, Nesting, Block)]) -> Block {
    let blocks = blocks.iter().map(|(name, nesting, block)| {
        let nested = NestedBlock {
            nesting: *nesting,
            block: block.clone(),
            min_items: 0,
            max_items: 0,
        };
        ((*name).into(), nested)
    });
    Block {
        blocks: blocks.collect(),
        ..block(list)
    }
}

fn s(text: &str) -> Value {
    Value::string(text)
}

fn null() -> Value {
    Value::null(Type::String)
}

fn unknown() -> Value {
    Value::unknown(Type::String)
}

fn object<const N: usize>(attrs: [(&str, Value); N]) -> Value {
    Value::object(attrs)
}

fn list(items: Vec<Value>) -> Value {
    Value::list(items[0].ty(), items)
}

fn set(items: Vec<Value>) -> Value {
    Value::set(items[0].ty(), items)
}

fn texts(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(Problem::to_string).collect()
}

#[track_caller]
fn check_proposed(schema: &Block, prior: Value, config: Value, want: Value) {
    assert_eq!(proposed_new(schema, &prior, &config), want);
}

#[track_caller]
fn check_valid(schema: &Block, prior: Value, config: Value, planned: Value, want: &[&str]) {
    assert_eq!(texts(&assert_plan_valid(schema, &prior, &config, &planned)), want);
}

#[track_caller]
fn check_compatible(schema: &Block, planned: Value, actual: Value, want: &[&str]) {
    assert_eq!(texts(&assert_object_compatible(schema, &planned, &actual)), want);
}

#[test]
fn computed_attributes_keep_their_prior_value_where_config_is_null() {
    let schema = block(&[("arg", plain("o")), ("both", plain("oc")), ("id", plain("c"))]);
    let config = object([("arg", null()), ("both", null()), ("id", null())]);
    check_proposed(&schema, Value::null(schema.ty()), config.clone(), config.clone());
    let prior = object([("arg", s("a")), ("both", s("b")), ("id", s("i"))]);
    let kept = object([("arg", null()), ("both", s("b")), ("id", s("i"))]);
    check_proposed(&schema, prior.clone(), config, kept);
    let set_now = object([("arg", s("x")), ("both", unknown()), ("id", null())]);
    check_proposed(
        &schema,
        prior,
        set_now,
        object([("arg", s("x")), ("both", unknown()), ("id", s("i"))]),
    );
    check_proposed(
        &schema,
        Value::null(schema.ty()),
        Value::null(schema.ty()),
        Value::null(schema.ty()),
    );
}

#[test]
fn a_nested_attribute_that_config_made_is_not_kept() {
    let inner = [("set", plain("o")), ("made", plain("c"))];
    let schema = block(&[("n", nested(Nesting::Single, "oc", &inner))]);
    let none = object([("n", Value::null(schema.attributes["n"].ty()))]);
    let made = object([("n", object([("set", null()), ("made", s("m"))]))]);
    check_proposed(&schema, made.clone(), none.clone(), made);
    let configured = object([("n", object([("set", s("x")), ("made", s("m"))]))]);
    check_proposed(&schema, configured, none.clone(), none);
}

#[test]
fn blocks_pair_by_position_key_and_content() {
    let inner = block(&[("name", plain("o")), ("id", plain("c"))]);
    let one = |name: &str, id: Value| object([("name", s(name)), ("id", id)]);
    for nesting in [Nesting::List, Nesting::Set] {
        let schema = with_blocks(&[], &[("b", nesting, inner.clone())]);
        let make = if nesting == Nesting::List { list } else { set };
        let prior = object([("b", make(vec![one("x", s("1")), one("y", s("2"))]))]);
        let config = object([("b", make(vec![one("y", null()), one("z", null())]))]);
        // By position the second prior block's id goes to z; by content y keeps its own.
        let want = match nesting {
            Nesting::List => vec![one("y", s("1")), one("z", s("2"))],
            _ => vec![one("y", s("2")), one("z", null())],
        };
        check_proposed(&schema, prior.clone(), config, object([("b", make(want))]));
        let empty = object([("b", Value::empty(&schema.blocks["b"].ty()))]);
        check_proposed(&schema, prior, empty.clone(), empty);
    }
    let schema = with_blocks(&[], &[("b", Nesting::Map, inner.clone())]);
    let map = |entries: Vec<(&str, Value)>| object([("b", Value::map(inner.ty(), entries))]);
    let prior = map(vec![("k", one("x", s("1")))]);
    let config = map(vec![("k", one("y", null())), ("l", one("z", null()))]);
    check_proposed(
        &schema,
        prior,
        config,
        map(vec![("k", one("y", s("1"))), ("l", one("z", null()))]),
    );
}

#[test]
fn group_blocks_are_always_there_and_single_ones_as_configured() {
    let inner = block(&[("id", plain("c"))]);
    let schema = with_blocks(
        &[],
        &[
            ("g", Nesting::Group, inner.clone()),
            ("s", Nesting::Single, inner.clone()),
        ],
    );
    let filled = object([("id", s("1"))]);
    let config = object([("g", object([("id", null())])), ("s", Value::null(inner.ty()))]);
    let prior = object([("g", filled.clone()), ("s", filled.clone())]);
    check_proposed(
        &schema,
        prior,
        config.clone(),
        object([("g", filled), ("s", Value::null(inner.ty()))]),
    );
    assert_eq!(empty_value(&schema), config);
}

#[test]
fn data_resources_are_unknown_where_config_is_silent() {
    let inner = block(&[("a", plain("o")), ("id", plain("c"))]);
    let schema = with_blocks(
        &[("arg", plain("o")), ("id", plain("c"))],
        &[("b", Nesting::List, inner)],
    );
    let one = |id: Value| list(vec![object([("a", s("x")), ("id", id)])]);
    let config = object([("arg", null()), ("id", null()), ("b", one(null()))]);
    let want = object([("arg", null()), ("id", unknown()), ("b", one(unknown()))]);
    assert_eq!(planned_data_resource(&schema, &config), want);
}

#[test]
fn a_plan_may_fill_in_computed_values_and_keep_equivalent_ones() {
    let schema = block(&[
        ("arg", plain("o")),
        ("both", plain("oc")),
        ("id", plain("c")),
        ("w", plain("ow")),
    ]);
    let of = |arg: Value, both: Value, id: Value, w: Value| {
        object([("arg", arg), ("both", both), ("id", id), ("w", w)])
    };
    let no_prior = || Value::null(schema.ty());
    let config = of(s("a"), null(), null(), s("secret"));
    check_valid(
        &schema,
        no_prior(),
        config.clone(),
        of(s("a"), unknown(), unknown(), null()),
        &[],
    );
    let prior = of(s("A"), s("b"), s("i"), null());
    check_valid(
        &schema,
        prior.clone(),
        config.clone(),
        of(s("A"), s("b"), s("i"), null()),
        &[],
    );
    let mismatch = ".arg: planned value matches neither config value nor prior value";
    check_valid(
        &schema,
        prior.clone(),
        config.clone(),
        of(s("x"), s("b"), s("i"), null()),
        &[mismatch],
    );
    let kept = ".w: planned value for write-only attribute is not null";
    check_valid(
        &schema,
        prior.clone(),
        config,
        of(s("a"), s("b"), s("i"), s("other")),
        &[kept],
    );
    // A prior value may not stay where config took it away, unless it is computed.
    let made_up = ".arg: planned a value for an attribute that is neither configured nor computed";
    let silent = of(null(), null(), null(), null());
    check_valid(&schema, prior.clone(), silent, prior, &[made_up]);
    let exists = ": planned for existence but config wants absence";
    check_valid(
        &schema,
        no_prior(),
        no_prior(),
        of(s("a"), null(), null(), null()),
        &[exists],
    );
}

#[test]
fn planned_values_are_compared_without_refinements() {
    let schema = block(&[("arg", plain("o"))]);
    let refined = unknown_refined(Type::String, Refinement::not_null());
    let prior = Value::null(schema.ty());
    check_valid(
        &schema,
        prior,
        object([("arg", refined)]),
        object([("arg", unknown())]),
        &[],
    );
}

#[test]
fn blocks_in_a_plan_are_those_of_config() {
    let inner = block(&[("a", plain("o"))]);
    let one = |a: Value| object([("a", a)]);
    let schema = with_blocks(&[], &[("b", Nesting::List, inner.clone())]);
    let blocks = |value: Value| object([("b", value)]);
    let ty = Type::list(inner.ty());
    let prior = || Value::null(schema.ty());
    let config = blocks(list(vec![one(s("x"))]));
    let two = blocks(list(vec![one(s("x")), one(s("y"))]));
    let count = ".b: block count in plan (2) disagrees with config (1)";
    check_valid(&schema, prior(), config.clone(), two, &[count]);
    let other = ".b[0].a: planned value does not match config value";
    check_valid(
        &schema,
        prior(),
        config.clone(),
        blocks(list(vec![one(s("y"))])),
        &[other],
    );
    let null_list = ".b: a list of nested blocks must be empty where there are none, not null";
    check_valid(
        &schema,
        prior(),
        config,
        blocks(Value::null(ty.clone())),
        &[null_list],
    );
    let dynamic = ".b: planned another value for a dynamic block whose for_each is unknown";
    let unknown_blocks = blocks(Value::unknown(ty.clone()));
    check_valid(
        &schema,
        prior(),
        unknown_blocks.clone(),
        blocks(Value::empty(&ty)),
        &[dynamic],
    );
    check_valid(&schema, prior(), unknown_blocks.clone(), unknown_blocks, &[]);
    let set_schema = with_blocks(&[], &[("b", Nesting::Set, inner)]);
    let any = (
        blocks(set(vec![one(s("x"))])),
        blocks(set(vec![one(s("y")), one(s("z"))])),
    );
    check_valid(&set_schema, Value::null(set_schema.ty()), any.0, any.1, &[]);
}

#[test]
fn nested_attributes_are_checked_inside() {
    let inner = [("set", plain("o")), ("made", plain("c"))];
    let one = |set: Value, made: Value| object([("set", set), ("made", made)]);
    let schema = block(&[("n", nested(Nesting::List, "o", &inner))]);
    let of = |items: Vec<Value>| object([("n", list(items))]);
    let prior = || Value::null(schema.ty());
    let config = of(vec![one(s("x"), null())]);
    check_valid(
        &schema,
        prior(),
        config.clone(),
        of(vec![one(s("x"), unknown())]),
        &[],
    );
    let wrong = ".n[0].set: planned value does not match config value";
    check_valid(
        &schema,
        prior(),
        config.clone(),
        of(vec![one(s("y"), unknown())]),
        &[wrong],
    );
    let count = ".n: count in plan (2) disagrees with count in config (1)";
    let two = of(vec![one(s("x"), null()), one(s("y"), null())]);
    check_valid(&schema, prior(), config.clone(), two, &[count]);
    let all = object([("n", Value::unknown(schema.attributes["n"].ty()))]);
    check_valid(
        &schema,
        prior(),
        config,
        all,
        &[".n: planned unknown for configured value"],
    );
}

#[test]
fn what_was_planned_must_come_true() {
    let schema = block(&[
        ("a", plain("o")),
        ("l", typed(Type::list(Type::String), "oc")),
        ("m", typed(Type::map(Type::String), "oc")),
        ("secret", plain("os")),
        ("any", typed(Type::Dynamic, "oc")),
    ]);
    let of = |a: Value, l: Value, m: Value, secret: Value, any: Value| {
        object([("a", a), ("l", l), ("m", m), ("secret", secret), ("any", any)])
    };
    let planned = of(
        unknown_refined(
            Type::String,
            Refinement {
                not_null: true,
                prefix: Some("ab".into()),
                ..Refinement::default()
            },
        ),
        list(vec![s("x"), unknown()]),
        Value::map(Type::String, [("k", s("v"))]),
        s("hidden"),
        Value::dynamic(),
    );
    let good = of(
        s("abc"),
        list(vec![s("x"), s("y")]),
        Value::map(Type::String, [("k", s("v"))]),
        s("hidden"),
        s("1"),
    );
    check_compatible(&schema, planned.clone(), good, &[]);
    let bad = of(
        null(),
        list(vec![s("y")]),
        Value::map(Type::String, [("q", s("v"))]),
        s("other"),
        Value::bool(true),
    );
    let want = [
        ".a: final value null(string) does not fit the planned unknown(string, Refinement { not_null: true, prefix: \
         Some(\"ab\"), min: None, max: None, length_min: None, length_max: None })",
        ".l[0]: was \"x\", but now \"y\"",
        ".l: element 1 has vanished",
        ".m: element \"k\" has vanished",
        ".m: new element \"q\" has appeared",
        ".secret: inconsistent values for sensitive attribute",
    ];
    check_compatible(&schema, planned.clone(), bad, &want);
    check_compatible(
        &schema,
        planned,
        Value::null(schema.ty()),
        &[": the whole object was present, but now absent"],
    );
}

#[test]
fn marks_hide_values_and_change_nothing_else() {
    let schema = block(&[("a", plain("o"))]);
    let marked = object([("a", s("x").with_marks(Marks::SENSITIVE))]);
    check_compatible(&schema, marked.clone(), object([("a", s("x"))]), &[]);
    let hidden = ".a: inconsistent values for sensitive attribute";
    check_compatible(&schema, marked, object([("a", s("y"))]), &[hidden]);
}

#[test]
fn set_members_find_a_counterpart_or_are_blamed() {
    let inner = block(&[("a", plain("o")), ("id", plain("c"))]);
    let one = |a: &str, id: Value| object([("a", s(a)), ("id", id)]);
    let schema = with_blocks(&[], &[("b", Nesting::Set, inner)]);
    let blocks = |items: Vec<Value>| object([("b", set(items))]);
    let planned = blocks(vec![one("x", unknown()), one("y", unknown())]);
    check_compatible(
        &schema,
        planned.clone(),
        blocks(vec![one("x", s("1")), one("y", s("2"))]),
        &[],
    );
    let want = [
        ".b: planned set element {\"a\": \"y\", \"id\": unknown(string)} does not correlate with any element in actual",
    ];
    check_compatible(&schema, planned.clone(), blocks(vec![one("x", s("1"))]), &want);
    let grown = blocks(vec![one("x", s("1")), one("y", s("2")), one("y", s("3"))]);
    check_compatible(
        &schema,
        planned,
        grown,
        &[".b: block set length changed from 2 to 3"],
    );
    // The value of a sensitive member is not told: marks of members are on the set.
    let secret = object([("b", set(vec![one("x", s("1"))]).with_marks(Marks::SENSITIVE))]);
    let want = [".b: planned set element does not correlate with any element in actual"];
    check_compatible(&schema, secret, blocks(vec![one("z", s("1"))]), &want);
}

#[test]
fn block_counts_are_fixed_unless_unknown() {
    let inner = block(&[("a", plain("o"))]);
    let schema = with_blocks(
        &[],
        &[
            ("b", Nesting::List, inner.clone()),
            ("s", Nesting::Single, inner.clone()),
        ],
    );
    let one = || object([("a", s("x"))]);
    let absent = || Value::null(inner.ty());
    let of = |b: Value, s: Value| object([("b", b), ("s", s)]);
    let two = list(vec![one(), one()]);
    check_compatible(
        &schema,
        of(Value::unknown(two.ty()), absent()),
        of(two.clone(), absent()),
        &[],
    );
    let want = [
        ".b: block count changed from 1 to 2",
        ".s: was absent, but now present",
    ];
    check_compatible(
        &schema,
        of(list(vec![one()]), absent()),
        of(two.clone(), one()),
        &want,
    );
    check_compatible(
        &schema,
        of(two.clone(), Value::unknown(inner.ty())),
        of(two, absent()),
        &[],
    );
}

#[test]
fn null_blocks_become_empty_and_unknown_ones_one_of_unknowns() {
    let inner = block(&[("a", plain("o"))]);
    let schema = with_blocks(
        &[("x", plain("o"))],
        &[
            ("l", Nesting::List, inner.clone()),
            ("t", Nesting::Set, inner.clone()),
        ],
    );
    let of = |x: Value, l: Value, t: Value| object([("x", x), ("l", l), ("t", t)]);
    let (l, t) = (Type::list(inner.ty()), Type::set(inner.ty()));
    let secret = s("x").with_marks(Marks::SENSITIVE);
    let given = of(secret.clone(), Value::null(l.clone()), Value::unknown(t));
    let want = of(secret, Value::empty(&l), set(vec![object([("a", unknown())])]));
    assert_eq!(normalize_null_blocks(&schema, &given), want);
    assert_eq!(
        normalize_null_blocks(&schema, &Value::null(schema.ty())),
        Value::null(schema.ty())
    );
}

#[test]
fn schema_marks_reach_every_nested_value() {
    let schema = with_blocks(
        &[
            ("p", plain("s")),
            (
                "n",
                nested(Nesting::List, "o", &[("q", plain("os")), ("r", plain("o"))]),
            ),
        ],
        &[
            ("b", Nesting::List, block(&[("z", plain("os"))])),
            ("t", Nesting::Set, block(&[("z", plain("os"))])),
        ],
    );
    let value = object([
        ("p", null()),
        ("n", list(vec![object([("q", s("1")), ("r", s("2"))])])),
        ("b", list(vec![object([("z", s("3"))])])),
        ("t", set(vec![object([("z", s("4"))])])),
    ]);
    let marked = mark_sensitive(&schema, value);
    let found: Vec<String> = marked
        .clone()
        .unmark_deep_with_paths()
        .1
        .iter()
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(found, [".b[0].z", ".n[0].q", ".p", ".t"]);
    assert_eq!(
        mark_sensitive(&schema, Value::null(schema.ty())),
        Value::null(schema.ty())
    );
}

#[test]
fn write_only_values_are_found_and_removed() {
    let schema = with_blocks(
        &[("w", plain("ow"))],
        &[(
            "b",
            Nesting::List,
            block(&[("v", plain("ow")), ("a", plain("o"))]),
        )],
    );
    let of = |w: Value, v: Value| object([("w", w), ("b", list(vec![object([("v", v), ("a", s("x"))])]))]);
    let value = of(s("1"), s("2"));
    let found: Vec<String> = non_null_write_only(&schema, &value)
        .iter()
        .map(Path::to_string)
        .collect();
    assert_eq!(found, [".w", ".b[0].v"]);
    assert_eq!(null_write_only(&schema, value), of(null(), null()));
    assert!(non_null_write_only(&schema, &of(null(), null())).is_empty());
    assert_eq!(write_only_paths(&schema, &of(null(), null())).len(), 2);
}

#[test]
fn ignored_changes_are_undone() {
    let map = |entries: &[(&str, &str)]| {
        Value::map(Type::String, entries.iter().map(|(key, text)| (*key, s(text))))
    };
    let no_map = || Value::null(Type::map(Type::String));
    let of = |a: Value, tags: Value| object([("a", a), ("tags", tags)]);
    let a = Path::root().attr("a");
    let tags = Path::root().attr("tags");
    let key = |name: &str| tags.index(s(name));
    let check = |paths: &[Path], prior: Value, config: Value, want: Value| {
        assert_eq!(
            *ignore_in_planned(&prior, &config, Ignore::Paths(paths)),
            want,
            "{paths:?}"
        );
    };
    let prior = of(s("old"), map(&[("k", "1"), ("gone", "2")]));
    let config = of(s("new"), map(&[("k", "9"), ("more", "3")]));
    check(
        std::slice::from_ref(&a),
        prior.clone(),
        config.clone(),
        of(s("old"), map(&[("k", "9"), ("more", "3")])),
    );
    check(
        std::slice::from_ref(&tags),
        prior.clone(),
        config.clone(),
        of(s("new"), map(&[("k", "1"), ("gone", "2")])),
    );
    // One key: restored, brought back, or removed, and the others stay as configured.
    check(
        &[key("k")],
        prior.clone(),
        config.clone(),
        of(s("new"), map(&[("k", "1"), ("more", "3")])),
    );
    check(
        &[key("gone")],
        prior.clone(),
        config.clone(),
        of(s("new"), map(&[("k", "9"), ("more", "3"), ("gone", "2")])),
    );
    check(
        &[key("more")],
        prior.clone(),
        config.clone(),
        of(s("new"), map(&[("k", "9")])),
    );
    // A null map stays null where nothing is put into it.
    check(
        &[key("k")],
        of(s("o"), map(&[])),
        of(s("n"), no_map()),
        of(s("n"), no_map()),
    );
    check(
        &[key("k")],
        of(s("o"), map(&[("k", "1")])),
        of(s("n"), no_map()),
        of(s("n"), map(&[("k", "1")])),
    );
    check(
        &[key("k")],
        of(s("o"), no_map()),
        of(s("n"), map(&[("k", "1")])),
        of(s("n"), map(&[])),
    );
    let not_known = Value::unknown(Type::map(Type::String));
    check(
        &[key("k")],
        prior.clone(),
        of(s("n"), not_known.clone()),
        of(s("n"), not_known),
    );
    check(&[Path::root().attr("none")], prior, config.clone(), config);
}

#[test]
fn ignoring_all_takes_the_prior_object_without_computed_values() {
    let schema = block(&[("a", plain("o")), ("both", plain("oc")), ("id", plain("c"))]);
    let of = |a: Value, both: Value, id: Value| object([("a", a), ("both", both), ("id", id)]);
    let prior = of(s("a"), s("b"), s("i"));
    let config = of(s("x"), null(), null());
    assert_eq!(
        *ignore_in_config(&schema, &prior, &config, Ignore::All),
        of(s("a"), s("b"), null())
    );
    assert_eq!(*ignore_in_planned(&prior, &config, Ignore::All), prior);
    assert_eq!(
        *ignore_in_config(&schema, &Value::null(schema.ty()), &config, Ignore::All),
        config
    );
}

#[test]
fn ignored_paths_reach_into_lists_of_blocks() {
    let of = |x: &str| object([("b", list(vec![object([("x", s("0")), ("y", s(x))])]))]);
    let path = Path::root().attr("b").index(Value::number(0)).attr("y");
    assert_eq!(
        *ignore_in_planned(&of("old"), &of("new"), Ignore::Paths(&[path])),
        of("old")
    );
}

#[test]
fn only_changed_paths_require_replacement() {
    let of = |a: Value, b: Value| object([("a", a), ("b", b)]);
    let (a, b, c) = (
        Path::root().attr("a"),
        Path::root().attr("b"),
        Path::root().attr("c"),
    );
    let prior = of(s("1"), s("2"));
    let planned = of(s("1"), unknown());
    let both = [a.clone(), b.clone()];
    assert_eq!(
        required_replaces(&prior, &planned, &[], &both),
        Ok(vec![b.clone()])
    );
    assert_eq!(
        required_replaces(&prior, &planned, std::slice::from_ref(&a), &both),
        Ok(vec![a, b])
    );
    assert_eq!(
        required_replaces(&Value::null(prior.ty()), &planned, &[], std::slice::from_ref(&c)),
        Ok(vec![])
    );
    let problems = required_replaces(&prior, &planned, &[], &[c]).unwrap_err();
    assert_eq!(
        texts(&problems),
        [".c: \"requires replacement\" for a path that does not exist"]
    );
}

#[test]
fn parts_of_null_and_unknown_objects() {
    let ty = Type::object([("a", Type::Bool)]);
    let get = |object: &Value| part::part(object, "a", || Type::Bool);
    assert!(matches!(
        get(&Value::null(ty.clone())).data(),
        Data::Null(Type::Bool)
    ));
    assert!(matches!(
        get(&Value::unknown(ty)).data(),
        Data::Unknown(Type::Bool, None)
    ));
    assert!(matches!(
        get(&Value::dynamic()).data(),
        Data::Unknown(Type::Bool, None)
    ));
}
