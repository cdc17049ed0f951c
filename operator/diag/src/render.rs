//! The text form of a diagnostic for a terminal or a condition message.
//!
//! The layout is the one Terraform users know: a boxed summary, the place, the source line, what names in it stand for, the
//! detail. It shows what the diagnostic's maker put into it, and the source line, which is the user's own text.

use std::fmt::Write as _;

use crate::{Diag, Named, Severity, Sources, Span, shown};

/// Whether the text carries ANSI colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// No escape sequences.
    Plain,
    /// ANSI colours and underlining of the blamed text.
    Colour,
}

/// Renders one diagnostic, with its source line where the place is known; ends with a newline. `block`: the head of the block
/// around the place, if the caller knows it.
pub fn render(diag: &Diag, sources: &Sources, style: Style, block: Option<&str>) -> String {
    let (colour, word) = match diag.severity {
        Severity::Error => ("31", "Error"),
        Severity::Warning => ("33", "Warning"),
    };
    let paint = |code: &str, text: &str| match style {
        Style::Plain => text.to_owned(),
        Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    };
    let mut lines = vec![format!(
        "{}{}",
        paint(&format!("1;{colour}"), &format!("{word}: ")),
        paint("1", &diag.summary)
    )];
    lines.push(String::new());
    let mut placed = false;
    if let Some(span) = diag.place()
        && let Some(text) = snippet(span, diag, sources, style, block)
    {
        lines.extend(text);
        lines.push(String::new());
        placed = true;
    }
    if !placed && let Some(address) = &diag.address {
        lines.push(format!("  with {address},"));
        lines.push(String::new());
    }
    if !diag.detail.is_empty() {
        lines.extend(diag.detail.trim_end().lines().map(str::to_owned));
    } else {
        lines.pop();
    }
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(colour, "╷"));
    for line in lines {
        let _ = writeln!(out, "{} {line}", paint(colour, "│"));
    }
    let _ = writeln!(out, "{}", paint(colour, "╵"));
    out
}

fn snippet(
    span: Span,
    diag: &Diag,
    sources: &Sources,
    style: Style,
    block: Option<&str>,
) -> Option<Vec<String>> {
    let source = sources.get(span.file)?;
    let place = sources.place(span)?;
    // Where it stands in the file; how Terraform counts inside JSON strings is another matter.
    let line_of = |byte: u32| source.line_of(byte as usize);
    let (first, end) = (line_of(span.start), line_of(span.end));
    let mut head = format!("  on {} line {first}", place.file);
    if let Some(address) = &diag.address {
        head = format!("  with {address},\n{head}");
    }
    if let Some(block) = block {
        let _ = write!(head, ", in {block}");
    }
    head.push(':');
    let mut out: Vec<String> = head.lines().map(str::to_owned).collect();
    let last = end.min(first + 9);
    for number in first..=last.max(first) {
        let line = source.line(number);
        let text = if style == Style::Colour {
            underline(line, number, &place, source.line_starts())
        } else {
            line.to_owned()
        };
        out.push(format!("{number:>4}: {}", shown(&text)));
    }
    out.extend(values(diag, style));
    Some(out)
}

/// What names in the expression at fault stand for, below a rule.
fn values(diag: &Diag, style: Style) -> Vec<String> {
    let paint = |code: &str, text: &str| match style {
        Style::Plain => text.to_owned(),
        Style::Colour => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
    };
    let said = diag
        .values
        .iter()
        .flatten()
        .map(|Named { name, is }| format!("    {} {} {}", paint("90", "│"), paint("1", name), shown(is)));
    let mut lines: Vec<String> = said.collect();
    if !lines.is_empty() {
        lines.insert(0, format!("    {}", paint("90", "├────────────────")));
    }
    lines
}

fn underline(line: &str, number: usize, place: &crate::Place, starts: &[u32]) -> String {
    let base = starts.get(number - 1).map_or(0, |start| *start as usize);
    let from = place.start.byte.saturating_sub(base).min(line.len());
    let to = place.end.byte.saturating_sub(base).min(line.len()).max(from);
    match (line.get(..from), line.get(from..to), line.get(to..)) {
        (Some(before), Some(blamed), Some(after)) if !blamed.is_empty() => {
            format!("{before}\u{1b}[4m{blamed}\u{1b}[0m{after}")
        }
        _ => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_place_line_and_detail() {
        let mut sources = Sources::new();
        let file = sources.add("main.tf", "locals {\n  a = var.b\n}\n");
        let diag = Diag::error(
            "Reference to undeclared input variable",
            "Declare it with a variable block.",
        )
        .at(Span::new(file, 15, 20))
        .naming(vec![Named {
            name: "var.b".to_owned(),
            is: "is 3".to_owned(),
        }]);
        let text = render(&diag, &sources, Style::Plain, Some("locals"));
        assert_eq!(
            text,
            "╷\n│ Error: Reference to undeclared input variable\n│ \n│   on main.tf line 2, in locals:\n│    2:   a = var.b\n│     ├────────────────\n│     │ var.b is 3\n│ \n│ Declare it with a variable block.\n╵\n"
        );
    }
}
