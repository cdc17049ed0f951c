//! All that the commands print goes through here.
//!
//! Results go to standard output, diagnostics and progress to standard error. For programs all of it goes to standard output, as
//! messages. Nothing here decides what may be shown.

use std::io::{IsTerminal, Write};

use ashlar_diag::{Diag, Diags, Severity, Sources, Style, render};
use ashlar_syntax::enclosing_block;
use ashlar_value::Dialect;
use serde_json::{Map, Value as Json, json};

use crate::diagnostic_json::diagnostic;

/// The version of the form of messages.
const UI_VERSION: &str = "1.3";

/// Prints in the style that fits where it prints to.
#[derive(Clone, Copy)]
pub(crate) struct Printer {
    out: Style,
    err: Style,
    voice: Voice,
    /// Are warnings to be told in short?
    compact: bool,
}

/// For whom.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    People,
    Programs,
}

/// A message for programs.
pub(crate) struct Message {
    pub(crate) level: Level,
    /// In words.
    pub(crate) text: String,
    /// Its type.
    pub(crate) kind: &'static str,
    /// What comes with its type.
    pub(crate) fields: Map<String, Json>,
}

/// How much a message matters.
#[derive(Clone, Copy)]
pub(crate) enum Level {
    Info,
    Warn,
    Error,
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
            voice: Voice::People,
            compact: false,
        }
    }

    /// The same with warnings in short.
    pub(crate) fn compact(self) -> Self {
        Self {
            compact: true,
            ..self
        }
    }

    /// The same for programs, to whom it presents itself first.
    pub(crate) fn for_programs(self) -> Self {
        let printer = Self {
            out: Style::Plain,
            err: Style::Plain,
            voice: Voice::Programs,
            compact: false,
        };
        let terraform = Dialect::Terraform.version();
        let fields = json!({ "terraform": terraform, "ashlar": env!("CARGO_PKG_VERSION"), "ui": UI_VERSION });
        printer.message(Message {
            level: Level::Info,
            text: format!("Terraform {terraform}"),
            kind: "version",
            fields: fields.as_object().cloned().unwrap_or_default(),
        });
        printer
    }

    /// Is it for programs?
    pub(crate) fn is_for_programs(&self) -> bool {
        self.voice == Voice::Programs
    }

    /// Prints a message.
    pub(crate) fn message(&self, message: Message) {
        let Message {
            level,
            text,
            kind,
            mut fields,
        } = message;
        let level = match level {
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ");
        for (name, value) in [
            ("@level", level),
            ("@message", text.as_str()),
            ("@module", "terraform.ui"),
            ("@timestamp", now.to_string().as_str()),
            ("type", kind),
        ] {
            fields.insert(name.to_owned(), value.into());
        }
        let _ = writeln!(std::io::stdout().lock(), "{}", Json::Object(fields));
    }

    /// What has no form of its own for programs.
    fn log(&self, text: &str) {
        if !text.trim().is_empty() {
            self.message(Message {
                level: Level::Info,
                text: text.trim().to_owned(),
                kind: "log",
                fields: Map::new(),
            });
        }
    }

    /// The style of results.
    pub(crate) fn style(&self) -> Style {
        self.out
    }

    /// Prints a result. A reader that went away is no fault.
    pub(crate) fn result(&self, text: &str) {
        if self.is_for_programs() {
            return self.log(text);
        }
        let _ = std::io::stdout().lock().write_all(text.as_bytes());
    }

    /// Prints a line for who watches.
    pub(crate) fn note(&self, line: &str) {
        if self.is_for_programs() {
            return self.log(line);
        }
        let _ = writeln!(std::io::stderr().lock(), "{line}");
    }

    /// Prints a fault that has no place in source.
    pub(crate) fn error(&self, text: &str) {
        if self.is_for_programs() {
            let (summary, detail) = text.split_once("\n").unwrap_or((text, ""));
            let diag = Diag::error(summary.to_owned(), detail);
            return self.diags(&diag.into(), &Sources::new());
        }
        let prefix = match self.err {
            Style::Colour => "\u{1b}[1;31mError:\u{1b}[0m",
            Style::Plain => "Error:",
        };
        self.note(&format!("{prefix} {text}"));
    }

    /// Prints diagnostics.
    pub(crate) fn diags(&self, diags: &Diags, sources: &Sources) {
        if self.is_for_programs() {
            return diags.iter().for_each(|diag| self.message(told(diag, sources)));
        }
        let mut err = std::io::stderr().lock();
        if self.compact && !diags.is_empty() && !diags.has_errors() {
            let _ = write!(err, "{}", in_short(diags, sources));
            return;
        }
        for diag in diags {
            let block = diag.place().and_then(|place| enclosing_block(sources, place));
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

/// Warnings in a line or two each.
fn in_short(warnings: &Diags, sources: &Sources) -> String {
    let mut out = "Warnings:\n\n".to_owned();
    for warning in warnings {
        out.push_str(&format!("- {}\n", warning.summary));
        if let Some(place) = warning.place().and_then(|span| sources.place(span)) {
            out.push_str(&format!("  on {} line {}\n", place.file, place.start.line));
        }
    }
    out.push_str("\nWithout --compact-warnings they are told in full.\n");
    out
}

/// A diagnostic as a message.
fn told(diag: &Diag, sources: &Sources) -> Message {
    let (level, word) = match diag.severity {
        Severity::Error => (Level::Error, "Error"),
        Severity::Warning => (Level::Warn, "Warning"),
    };
    let mut fields = Map::new();
    fields.insert("diagnostic".to_owned(), diagnostic(diag, sources));
    Message {
        level,
        text: format!("{word}: {}", diag.summary),
        kind: "diagnostic",
        fields,
    }
}
