//! Configuration texts: any text is read, to a tree whose places lie within it.

use ashlar_diag::{Diag, Diags, FileId, Sources, Style, render};
use ashlar_syntax::{Expr, Wanted, parse_expression, parse_file, parse_template, parse_traversal};

use crate::spans;

/// Native syntax: as a file, an expression, a template, a reference.
pub(crate) fn native(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let mut sources = Sources::new();
    let file = sources.add("case.tf", text);
    read(&sources, file, parse_file, spans::body);
    read(&sources, file, parse_expression, spans::expr);
    read(&sources, file, parse_template, spans::expr);
    read(&sources, file, parse_traversal, |check, found| {
        if let Some(traversal) = found {
            spans::traversal(check, traversal);
        }
    });
    true
}

/// JSON syntax: as a file, whose bodies are read by two schemas.
pub(crate) fn json(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else {
        return false;
    };
    let mut sources = Sources::new();
    let file = sources.add("case.tf.json", text);
    read(&sources, file, parse_file, spans::body);
    let (body, _) = parse_file(&sources, file);
    let Some(unread) = body.unread else {
        return false;
    };
    let reading = unread.clone().read(|name| match name.len() % 4 {
        0 => Some(Wanted::Argument),
        1 => Some(Wanted::Blocks(&[])),
        2 => Some(Wanted::Blocks(&["type", "name"])),
        _ => None,
    });
    let check = spans::Check::new(&sources, file);
    told(&sources, &check, reading.faults.iter());
    for block in &reading.blocks {
        spans::block(&check, block);
    }
    for attribute in &reading.attributes {
        spans::attribute(&check, attribute);
        strings(&sources, &check, &attribute.expr);
    }
    let (attributes, faults) = unread.arguments();
    told(&sources, &check, faults.iter());
    for attribute in &attributes {
        spans::attribute(&check, attribute);
        strings(&sources, &check, &attribute.expr);
    }
    true
}

/// What a string in JSON holds, and the static reference it may be.
fn strings(sources: &Sources, check: &spans::Check<'_>, expr: &Expr) {
    if let Some((inner, faults)) = expr.in_json_string() {
        spans::expr(check, &inner);
        told(sources, check, faults.iter());
    }
    if let Some(traversal) = expr.as_traversal() {
        spans::traversal(check, &traversal);
    }
    let _ = expr.keyword();
}

/// Reads twice: the same must come out, and all places must lie in the text.
fn read<T: std::fmt::Debug>(
    sources: &Sources,
    file: FileId,
    parse: fn(&Sources, FileId) -> (T, Diags),
    walk: fn(&spans::Check<'_>, &T),
) {
    let (tree, diags) = parse(sources, file);
    let check = spans::Check::new(sources, file);
    walk(&check, &tree);
    told(sources, &check, diags.iter());
    let (again, diags_again) = parse(sources, file);
    assert_eq!(format!("{tree:?}"), format!("{again:?}"));
    assert_eq!(format!("{diags:?}"), format!("{diags_again:?}"));
}

/// Diagnostics can be shown, and blame places in the text.
fn told<'d>(sources: &Sources, check: &spans::Check<'_>, diags: impl Iterator<Item = &'d Diag>) {
    for diag in diags {
        for span in [diag.subject, diag.context].into_iter().flatten() {
            check.place(span);
        }
        assert!(!render(diag, sources, Style::Colour, None).is_empty());
    }
}
