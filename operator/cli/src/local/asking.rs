//! Values of variables that a person is asked for, as Terraform asks: on standard input, be it a terminal or not, where nobody
//! said not to.
//!
//! Source: Terraform `internal/backend/local/backend_local.go` (`interactiveCollectVariables`), `internal/command/ui_input.go`.

use std::sync::{
    Mutex, Once, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    sync::Arc,
};

use ashlar_config::{Files, Input, InputValue, Origin, read_root};
use ashlar_diag::Sources;
use ashlar_eval::Variable;
use ashlar_value::Dialect;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::args::Asking;

/// Asks for what the root module's variables need and nobody gave.
pub(crate) fn fill(asking: &Asking, files: &Files, dialect: Dialect, given: &mut BTreeMap<Arc<str>, Input>) {
    if !asking.is_allowed() {
        return;
    }
    // Its faults are told by whoever plans it.
    let (root, faults) = read_root(files, dialect, &mut Sources::new());
    if faults.has_errors() {
        return;
    }
    let needed = root
        .variables
        .values()
        .filter(|variable| variable.default.is_none());
    for variable in needed {
        if given.contains_key(&variable.name) {
            continue;
        }
        let _hidden = variable.sensitive.then(Unseen::begin).flatten();
        let mut out = std::io::stderr().lock();
        let Some(text) = ask(variable, &mut std::io::stdin().lock(), &mut out) else {
            return;
        };
        let input = Input {
            value: InputValue::Text(text.into()),
            origin: Origin::Direct,
        };
        given.insert(variable.name.clone(), input);
    }
}

/// Asks for the value of one; nothing if there is no answer.
fn ask(variable: &Variable, from: &mut impl BufRead, to: &mut impl Write) -> Option<String> {
    let ephemeral = if variable.ephemeral { " (ephemeral)" } else { "" };
    let mut question = format!("var.{}{ephemeral}\n", variable.name);
    if let Some(description) = variable.description.as_ref().filter(|text| !text.is_empty()) {
        for line in description.lines() {
            question.push_str(&format!("  {line}\n"));
        }
        question.push('\n');
    }
    question.push_str("  Enter a value: ");
    answer(&question, from, to)
}

/// The line that answers a question; nothing if none comes, or not to its end.
pub(super) fn answer(question: &str, from: &mut impl BufRead, to: &mut impl Write) -> Option<String> {
    to.write_all(question.as_bytes()).ok()?;
    to.flush().ok()?;
    let mut line = String::new();
    let read = from.read_line(&mut line);
    let _ = to.write_all(b"\n");
    read.ok()?;
    line.ends_with('\n').then(|| line.trim_end().to_owned())
}

/// How the terminal was before what is typed was hidden, as long as it is.
static HIDDEN: Mutex<Option<Termios>> = Mutex::new(None);
/// Does somebody else answer interrupts?
static TAKEN: AtomicBool = AtomicBool::new(false);

/// From now on somebody else answers interrupts: they do not end the program by themselves.
pub(crate) fn interrupts_are_taken() {
    TAKEN.store(true, Ordering::SeqCst);
}

fn restore() {
    let mut hidden = HIDDEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(before) = hidden.take() {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &before);
    }
}

/// While it lives, what is typed is not seen on the terminal.
struct Unseen;

impl Unseen {
    fn begin() -> Option<Self> {
        static WATCH: Once = Once::new();
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut without = before.clone();
        without.local_modes.remove(LocalModes::ECHO);
        // An interrupt ends the program; the terminal must not stay as it is now. Once this is watched for, nothing else ends
        // the program, so it is until somebody else does.
        WATCH.call_once(|| {
            tokio::spawn(async {
                while tokio::signal::ctrl_c().await.is_ok() {
                    restore();
                    if !TAKEN.load(Ordering::SeqCst) {
                        std::process::exit(130);
                    }
                }
            });
        });
        *HIDDEN.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &without).ok()?;
        Some(Self)
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_asked_for_with_its_description() {
        let text =
            "variable \"a\" {\n  description = \"One.\\nTwo.\"\n}\nvariable \"b\" {\n  ephemeral = true\n}\n";
        let files = vec![("main.tf".into(), text.into())];
        let (root, faults) = read_root(&files, Dialect::Terraform, &mut Sources::new());
        assert!(faults.is_empty(), "{faults}");
        let check = |name: &str, typed: &str, question: &str, answer: Option<&str>| {
            let mut asked = Vec::new();
            let given = ask(&root.variables[name], &mut typed.as_bytes(), &mut asked);
            assert_eq!(String::from_utf8(asked).unwrap(), question);
            assert_eq!(given.as_deref(), answer);
        };
        let question = "var.a\n  One.\n  Two.\n\n  Enter a value: \n";
        check("a", "x y \n", question, Some("x y"));
        check("a", "\n", question, Some(""));
        check("a", "yes", question, None);
        check("b", "", "var.b (ephemeral)\n  Enter a value: \n", None);
    }
}
