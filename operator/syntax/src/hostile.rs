//! Hostile texts: deep nesting on a small stack, long inputs, truncated and mangled ones.

use crate::{
    lexer::Start,
    parse_expression, parse_file, parse_template, parse_traversal,
    parser::{Origin, Parser},
    token::Kind,
};
use ashlar_diag::{Diags, FileId, Sources};

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

/// A text of many parts: what comes before them, one of them (`#` is its number), what comes after.
type Long = (&'static str, &'static str, &'static str);

const LONG: [Long; 24] = [
    ("a = {\n", "  key_# = \"value #\"\n", "}\n"),
    ("a = { ", "k# = 1, ", "}\n"),
    ("a = <<E\n", "line # of ${text}\n", "E\n"),
    ("a = <<-E\n", "    line #\n", "    E\n"),
    ("a = <<-E\n", "  ${a} %{ if b ~}\n x\n %{ endif }\n", "    E\n"),
    ("a = \"", "${x} # ", "\"\n"),
    ("a = \"", "\\n$${ # %%{", "\"\n"),
    ("a = [", "#,\n", "]\n"),
    ("a = [", "[#, x.y[z]], f(g) // comment\n,", "]\n"),
    ("a = x", ".y#", "\n"),
    ("a = f(", "#, ", "1)\n"),
    ("", "a# = #\n", ""),
    ("", "b \"l#\" {\n  a = #\n}\n", ""),
    ("", "// comment #\n", ""),
    ("a = (", "// comment #\n", "1)\n"),
    ("a = (", "\n", "1)\n"),
    ("a = 1", " /* # */", "\n"),
    // Texts with faults.
    ("", "a# = ]\n", ""),
    ("", "a { b = 1, \n", ""),
    ("", "a# = \"${\n", ""),
    ("a = ", "<<E#\n", ""),
    ("", "} ] ) # ", ""),
    ("a = ", "/* ", ""),
    ("a = \"", "%{ else }", "\"\n"),
];

/// How many tokens are looked at to read the text.
fn work(text: &str) -> usize {
    let mut parser = Parser::new(text, Origin::file(FileId(0)), Start::Code);
    parser.body(Kind::End);
    parser.looked.get()
}

#[test]
fn twice_the_text_is_at_most_twice_the_work() {
    for (before, part, after) in LONG {
        let text = |parts: usize| {
            let mut text = before.to_owned();
            (0..parts).for_each(|at| text.push_str(&part.replace('#', &at.to_string())));
            text + after
        };
        let (half, whole) = (work(&text(2_000)), work(&text(4_000)));
        assert!(whole <= 2 * half + 100, "{part:?}: {half}, then {whole}");
    }
}

#[test]
fn a_text_that_is_no_configuration_is_told_so_often_but_not_always() {
    assert_eq!(read("@".repeat(500)).len(), 501);
    assert_eq!(read("@".repeat(500_000)).len(), 1_001);
}

#[test]
fn long_texts_are_read() {
    let keys: String = (0..32_000)
        .map(|at| format!("  key_{at} = {{ a = [{at}] }}\n"))
        .collect();
    let lines: String = (0..40_000)
        .map(|at| format!("  line {at} ${{var.x}}\n"))
        .collect();
    assert!(read(format!("a = {{\n{keys}}}\n")).is_empty());
    assert!(read(format!("a = <<-E\n{lines}  E\n")).is_empty());
}
