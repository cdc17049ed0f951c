//! What `ashlar launch` does, as a program of its own: tests of this crate run before the `ashlar` binary is built.

use std::{error::Error, process::ExitCode};

fn main() -> ExitCode {
    let error = ashlar_provider::launch::run(std::env::args_os().skip(1));
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(&format!(": {source}"));
        next = source.source();
    }
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{text}");
    ExitCode::FAILURE
}
