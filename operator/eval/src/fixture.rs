//! What tests of this crate start from: parsed text. Never used outside tests.

use ashlar_diag::{Diags, Sources};
use ashlar_syntax::{Body, Expr, parse_expression, parse_file};

/// One expression; its text must be right.
pub(crate) fn expr(text: &str) -> Expr {
    let mut sources = Sources::new();
    let file = sources.add("test.tf", text);
    let (expr, diags) = parse_expression(&sources, file);
    assert!(!diags.has_errors(), "{text}: {diags}");
    expr
}

/// A file's body; its text must be right.
pub(crate) fn body(text: &str) -> Body {
    let mut sources = Sources::new();
    let file = sources.add("test.tf", text);
    let (body, diags) = parse_file(&sources, file);
    assert!(!diags.has_errors(), "{text}: {diags}");
    body
}

/// Summaries with the text they blame.
pub(crate) fn blamed(diags: &Diags, text: &str) -> Vec<String> {
    diags
        .iter()
        .map(|diag| {
            let place = diag
                .subject
                .and_then(|span| text.get(span.start as usize..span.end as usize));
            format!("{} @ {}", diag.summary, place.unwrap_or("-"))
        })
        .collect()
}
