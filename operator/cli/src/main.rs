//! The `ashlar` binary. All of it stands in the library, so that conformance runs the same commands.

use std::process::ExitCode;

fn main() -> ExitCode {
    ashlar_cli::main(std::env::args_os().collect())
}
