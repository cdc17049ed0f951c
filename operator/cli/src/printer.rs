//! All that the commands print goes through here.
//!
//! Results go to standard output, diagnostics and progress to standard error. Nothing here decides what may be shown.

use std::io::{IsTerminal, Write};

use ashlar_diag::{Diags, Sources, Style, render};
use ashlar_syntax::enclosing_block;

/// Prints in the style that fits where it prints to.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    out: Style,
    err: Style,
}

/// The faults were printed already.
#[derive(Debug)]
pub(crate) struct Told;

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the errors above")
    }
}

impl std::error::Error for Told {}

impl Printer {
    /// Colours where a terminal is, unless they are not wanted.
    pub(crate) fn new(no_color: bool) -> Self {
        let style = |terminal: bool| {
            if terminal && !no_color {
                Style::Colour
            } else {
                Style::Plain
            }
        };
        Self {
            out: style(std::io::stdout().is_terminal()),
            err: style(std::io::stderr().is_terminal()),
        }
    }

    /// The style of results.
    pub(crate) fn style(&self) -> Style {
        self.out
    }

    /// Prints a result. A reader that went away is no fault.
    pub(crate) fn result(&self, text: &str) {
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    /// Prints a line for who watches.
    pub(crate) fn note(&self, line: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    /// Prints a fault that has no place in source.
    pub(crate) fn error(&self, text: &str) {
        let prefix = match self.err {
            Style::Colour => "\u{1b}[1;31mError:\u{1b}[0m",
            Style::Plain => "Error:",
        };
        self.note(&format!("{prefix} {text}"));
    }

    /// Prints diagnostics.
    pub(crate) fn diags(&self, diags: &Diags, sources: &Sources) {
        let mut err = std::io::stderr().lock();
        for diag in diags {
            let block = diag.subject.and_then(|place| enclosing_block(sources, place));
            let text = render(diag, sources, self.err, block.as_deref());
            let _ = writeln!(err, "{}", text.trim_end());
        }
    }

    /// Prints diagnostics and gives the error that says so.
    pub(crate) fn told(&self, diags: &Diags, sources: &Sources) -> anyhow::Error {
        self.diags(diags, sources);
        Told.into()
    }
}
