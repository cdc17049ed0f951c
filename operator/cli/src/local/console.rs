//! `ashlar console`: evaluates what is typed, over the configuration and its state. Changes nothing and takes no lock.
//!
//! Source: Terraform `internal/command/console.go`, `console_interactive.go`, `internal/repl/session.go`.

use std::{
    io::{BufRead, IsTerminal},
    process::ExitCode,
};

use anyhow::Context;
use ashlar_diag::Sources;
use ashlar_eval::{Scope, evaluate_for_console};
use ashlar_runner::{LookRequest, look, read_folder};
use ashlar_store::file::FileStore;
use ashlar_syntax::{is_unfinished, parse_expression};
use rustyline::{Config, DefaultEditor, error::ReadlineError};

use super::{inputs, packages::Fetched, session, workspace};
use crate::{args::ConsoleArgs, printer::Printer};

const HELP: &str = "\
Type an expression and press enter to see its value. It may refer to all that the root module's own
expressions may: variables, locals, and resources as the state holds them. type(EXPRESSION) shows a
value's type. An expression with open brackets goes on in the next line; an empty line ends it.

To leave, type \"exit\", or press Control-C or Control-D.";

/// Runs the command.
pub(crate) async fn run(args: &ConsoleArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let dir = session::folder(&args.place)?;
    let scratch = session::scratch()?;
    let settings = session::settings(&args.place, &dir, scratch.path(), printer)?;
    let mut sources = Sources::new();
    let (given, faults) = inputs::gather(&dir, &args.values, &mut sources)?;
    printer.diags(&faults, &sources);
    if faults.has_errors() {
        return Ok(ExitCode::FAILURE);
    }
    let (workspace, state_file) = workspace::selected(&dir, args.place.backends.elsewhere(), printer)?;
    let recovered = match FileStore::peek(state_file).await {
        Ok(recovered) => recovered,
        Err(diags) => {
            printer.diags(&diags, &sources);
            return Ok(ExitCode::FAILURE);
        }
    };
    printer.diags(&recovered.warnings, &sources);
    let fetched = Fetched::open(&dir, &args.fetching, printer)?;
    let request = LookRequest {
        files: read_folder(&dir, "", args.language.dialect)?,
        inputs: given,
        env: Vec::new(),
        state: recovered.state,
        folder: dir,
        workspace,
        dialect: args.language.dialect,
        packages: Some(fetched.packages.clone()),
    };
    let (looked, diags) = look(&settings, request, &mut sources).await;
    fetched.keep(looked.is_some())?;
    printer.diags(&diags, &sources);
    let Some(looked) = looked else {
        return Ok(ExitCode::FAILURE);
    };
    let (values, faults) = looked.values();
    printer.diags(&faults, &sources);
    if faults.has_errors() {
        printer.note("Because of the faults above, some expressions have no known value here.");
    }
    let scope = values.root().scope();
    let console = Console {
        scope: &scope,
        sources: &sources,
        printer,
    };
    let ended = if std::io::stdin().is_terminal() {
        console.converse()
    } else {
        console.answer(std::io::stdin().lock())
    };
    looked.close().await;
    ended
}

struct Console<'a> {
    scope: &'a dyn Scope,
    /// The texts of the configuration.
    sources: &'a Sources,
    printer: &'a Printer,
}

/// What comes of one input.
enum Answer {
    /// What is printed.
    Text(String),
    /// The faults were printed.
    Failed,
    Exit,
}

impl Console<'_> {
    fn handle(&self, input: &str) -> Answer {
        match input.trim() {
            "" => Answer::Text(String::new()),
            "exit" => Answer::Exit,
            "help" => Answer::Text(HELP.to_owned()),
            _ => self.evaluate(input),
        }
    }

    fn evaluate(&self, input: &str) -> Answer {
        // Of its own, so that a long session keeps no texts.
        let mut sources = self.sources.clone();
        let file = sources.add("<console-input>", input);
        let (expr, mut diags) = parse_expression(&sources, file);
        let mut text = String::new();
        if !diags.has_errors() {
            let (shown, faults) = evaluate_for_console(&expr, self.scope);
            text = shown;
            diags.extend(faults);
        }
        self.printer.diags(&diags, &sources);
        if diags.has_errors() {
            Answer::Failed
        } else {
            Answer::Text(text)
        }
    }

    /// Expressions that are piped in. As with Terraform the first fault ends it and the last result is printed; unlike
    /// there an expression may go over several lines.
    fn answer(&self, input: impl BufRead) -> anyhow::Result<ExitCode> {
        let mut last = String::new();
        let mut pending = String::new();
        let mut lines = input.lines();
        loop {
            let line = lines.next().transpose().context("The input cannot be read")?;
            if let Some(line) = &line {
                pending.push_str(line);
                pending.push('\n');
                if goes_on(line, &pending) {
                    continue;
                }
            } else if pending.is_empty() {
                self.printer.result(&format!("{last}\n"));
                return Ok(ExitCode::SUCCESS);
            }
            match self.handle(pending.trim()) {
                Answer::Text(text) => last = text,
                Answer::Failed => return Ok(ExitCode::FAILURE),
                Answer::Exit => return Ok(ExitCode::SUCCESS),
            }
            pending.clear();
        }
    }

    /// A conversation at a terminal.
    fn converse(&self) -> anyhow::Result<ExitCode> {
        let config = Config::builder().auto_add_history(false).build();
        let mut editor = DefaultEditor::with_config(config).context("The terminal cannot be used")?;
        let mut pending = String::new();
        loop {
            let prompt = if pending.is_empty() { "> " } else { ": " };
            match editor.readline(prompt) {
                Ok(line) => {
                    pending.push_str(&line);
                    pending.push('\n');
                    if goes_on(&line, &pending) {
                        continue;
                    }
                }
                Err(ReadlineError::Interrupted) if !pending.is_empty() => {
                    self.printer.note("(expression dropped)");
                    pending.clear();
                    continue;
                }
                Err(ReadlineError::Interrupted | ReadlineError::Eof) => return Ok(ExitCode::SUCCESS),
                Err(error) => return Err(error).context("The terminal cannot be read"),
            }
            // Whole expressions, so that one of several lines is brought back whole.
            if !pending.trim().is_empty() {
                let _ = editor.add_history_entry(pending.trim_end());
            }
            match self.handle(&pending) {
                Answer::Text(text) => self.printer.result(&format!("{text}\n")),
                Answer::Failed => {}
                Answer::Exit => return Ok(ExitCode::SUCCESS),
            }
            pending.clear();
        }
    }
}

/// An empty line ends an expression whatever is open.
fn goes_on(line: &str, pending: &str) -> bool {
    !line.trim().is_empty() && is_unfinished(pending)
}
