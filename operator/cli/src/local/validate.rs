//! `ashlar validate`: checks a configuration, its modules and its providers' arguments; nothing is planned.

use std::process::ExitCode;

use ashlar_diag::{Diag, Diags, Severity, Sources, Span, shown};
use ashlar_runner::{Validated, read_folder, validate};
use ashlar_syntax::enclosing_block;
use serde_json::{Value as Json, json};

use super::{inputs, packages::Fetched, session};
use crate::{args::ValidateArgs, printer::Printer};

/// Runs the command.
pub(crate) async fn run(args: &ValidateArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let dir = session::folder(&args.place)?;
    let scratch = session::scratch()?;
    let settings = session::settings(&args.place, &dir, scratch.path(), printer)?;
    let mut sources = Sources::new();
    let Validated { diags, limits } = match read_folder(&dir, "", args.language.dialect) {
        Ok(files) => {
            let (given, faults) = inputs::gather(&dir, &args.values, &mut sources)?;
            let fetched = Fetched::open(&dir, &args.fetching, printer)?;
            let packages = Some(fetched.packages.clone());
            let mut validated = validate(
                &settings,
                dir,
                files,
                &given,
                packages,
                args.language.dialect,
                &mut sources,
            )
            .await;
            // Values tell where modules are, and are not checked; but they must be readable.
            validated.diags.extend(faults);
            fetched.keep(!validated.diags.has_errors())?;
            validated
        }
        Err(error) => {
            let detail = format!("The folder {} cannot be read: {error}.", dir.display());
            Validated {
                diags: Diag::error("Failed to read module directory", detail).into(),
                limits: Diags::new(),
            }
        }
    };
    if args.json {
        let text = serde_json::to_string_pretty(&answer(&diags, &sources))?;
        printer.result(&format!("{text}\n"));
    } else {
        printer.diags(&diags, &sources);
        if !diags.has_errors() {
            let note = if diags.is_empty() {
                "."
            } else {
                ", but look at the warnings."
            };
            printer.result(&format!("The configuration is valid{note}\n"));
            if !limits.is_empty() {
                printer.note("Of what stands in it, Ashlar has this to say when it is planned:");
                printer.diags(&limits, &sources);
            }
        }
    }
    Ok(if diags.has_errors() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Source of the form: Terraform `internal/command/views/validate.go`, `views/json/diagnostic.go`. The block around a place
/// is not told of JSON: `context` is null there.
fn answer(diags: &Diags, sources: &Sources) -> Json {
    let errors = diags.iter().filter(|diag| diag.is_error()).count();
    json!({
        "format_version": "1.0",
        "valid": errors == 0,
        "error_count": errors,
        "warning_count": diags.len() - errors,
        "diagnostics": diags.iter().map(|diag| diagnostic(diag, sources)).collect::<Vec<_>>(),
    })
}

fn diagnostic(diag: &Diag, sources: &Sources) -> Json {
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
