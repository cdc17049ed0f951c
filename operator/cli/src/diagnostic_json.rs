//! A diagnostic as JSON: for `validate -json`, `plan -json` and `apply -json`.
//!
//! Source of the form: Terraform `internal/command/views/json/diagnostic.go`. The block around a place is not told of JSON:
//! `context` is null there.

use ashlar_diag::{Diag, Severity, Sources, Span, shown};
use ashlar_syntax::enclosing_block;
use serde_json::{Value as Json, json};

/// A diagnostic with its place, its lines and what names in it stand for.
pub(crate) fn diagnostic(diag: &Diag, sources: &Sources) -> Json {
    let severity = match diag.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut out = json!({"severity": severity, "summary": diag.summary, "detail": diag.detail});
    if let Some(address) = &diag.address {
        out["address"] = address.as_str().into();
    }
    let Some((span, place)) = diag.subject.and_then(|span| Some((span, sources.place(span)?))) else {
        return out;
    };
    // An empty range is shown as one character wide.
    let wider = usize::from(place.start == place.end);
    let byte = |at: usize| {
        sources
            .get(span.file)
            .map_or(at, |source| source.byte_in_file(at))
    };
    let end = json!({
        "line": place.end.line, "column": place.end.column + wider, "byte": byte(place.end.byte) + wider,
    });
    out["range"] = json!({
        "filename": &*place.file,
        "start": {"line": place.start.line, "column": place.start.column, "byte": byte(place.start.byte)},
        "end": end,
    });
    out["snippet"] = snippet(diag, span, wider, sources);
    out
}

/// The lines around a place, and where in them it is.
fn snippet(diag: &Diag, span: Span, wider: usize, sources: &Sources) -> Json {
    let Some(source) = sources.get(span.file) else {
        return Json::Null;
    };
    let (start, end) = (span.start as usize, span.end as usize);
    let first = source.line_of(start);
    let last = source.line_of(end.max(start + 1) - 1).max(first);
    let lines: Vec<&str> = (first..=last).map(|line| source.line(line)).collect();
    let from = source
        .line_starts()
        .get(first - 1)
        .map_or(start, |line| *line as usize);
    let values = diag.values.iter().flatten();
    let values = values.map(|named| json!({"traversal": named.name, "statement": named.is}));
    json!({
        "context": enclosing_block(sources, span),
        "code": shown(&lines.join("\n")),
        "start_line": first,
        "highlight_start_offset": start.saturating_sub(from),
        "highlight_end_offset": (end + wider).saturating_sub(from),
        "values": values.collect::<Vec<_>>(),
    })
}
