//! Hostile texts: deep nesting on a small stack, long inputs, truncated and mangled ones.

use crate::{parse_expression, parse_file, parse_template, parse_traversal};
use ashlar_diag::{Diags, Sources};

/// Reads the text in every way on a stack of 2 MiB, and gives the diagnostics of reading it as a file.
fn read(text: String) -> Diags {
    let run = move || {
        let mut sources = Sources::new();
        let file = sources.add("case.tf", text);
        drop(parse_expression(&sources, file));
        drop(parse_template(&sources, file));
        drop(parse_traversal(&sources, file));
        parse_file(&sources, file).1
    };
    let thread = std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(run)
        .unwrap();
    thread.join().unwrap()
}

/// What is repeated before a core, the core, what is repeated after it.
type Nest = (&'static str, &'static str, &'static str);

/// One level of depth each.
const SINGLE: [Nest; 13] = [
    ("(", "1", ")"),
    ("[", "1", "]"),
    ("{ a = ", "1", "}"),
    ("f(", "1", ")"),
    ("p::f(", "1", "...)"),
    ("a ? b : ", "c", ""),
    ("a ? ", "b", " : c"),
    ("-", "1", ""),
    ("a[", "b", "]"),
    ("", "a", "[b]"),
    ("", "a", "[*]"),
    ("a || ", "b", ""),
    ("", "a", " + b"),
];

/// Two or three.
const DOUBLE: [Nest; 10] = [
    ("\"${", "1", "}\""),
    ("<<E\n${", "1", "}\nE\n"),
    ("(1 + ", "a", ")"),
    ("[for x in ", "y", " : x]"),
    ("{for x in ", "y", " : x => x}"),
    ("[for x in a : [", "x", "]]"),
    ("{ (", "a", ") = 1 }"),
    ("\"%{ if ", "a", " }%{ endif }\""),
    ("\"%{ for x in ", "a", " }%{ endfor }\""),
    ("a[*][", "b", "]"),
];

/// More.
const HEAVY: [Nest; 3] = [
    ("1 || 1 && 1 == 1 < 1 + 1 * (", "1", ")"),
    ("f([for k in {a = \"%{ if [", "b", "] }%{ endif }\"} : k])"),
    ("[for k, v in a : k if ", "x", "]"),
];

fn check(levels: usize, fits: bool, nests: &[Nest]) {
    let nested = nests
        .iter()
        .map(|(open, core, close)| format!("a = {}{core}{}\n", open.repeat(levels), close.repeat(levels)));
    let blocks = format!(
        "{}a = 1\n{}",
        "b {\n".repeat(levels / 2),
        "}\n".repeat(levels / 2)
    );
    let directives = format!(
        "a = \"{}x{}\"\n",
        "%{ if a }".repeat(levels / 3),
        "%{ endif }".repeat(levels / 3)
    );
    for text in nested.chain([blocks, directives]) {
        let shown: String = text.chars().take(20).collect();
        let diags = read(text);
        assert_eq!(diags.is_empty(), fits, "{shown}: {diags:?}");
        if !fits {
            assert_eq!(
                diags.iter().map(|diag| &*diag.summary).collect::<Vec<_>>(),
                ["Excessive nesting"],
                "{shown}"
            );
        }
    }
}

#[test]
fn nesting_of_some_hundreds_is_read() {
    check(35, true, &HEAVY);
    check(95, true, &DOUBLE);
    check(390, true, &SINGLE);
}

#[test]
fn deeper_nesting_is_one_error() {
    for levels in [410, 2_000] {
        check(levels, false, &SINGLE);
        check(levels, false, &DOUBLE);
        check(levels, false, &HEAVY);
    }
}
