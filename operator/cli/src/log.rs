//! Logs: to standard error, as `RUST_LOG` asks.
//!
//! Local commands tell what they do by themselves, so they log nothing unasked; the operator logs what it does.

use std::io::IsTerminal as _;

use ashlar_controller::LogFormat;
use tracing_subscriber::EnvFilter;

use crate::args::Command;

/// Sets up logging for this command.
pub(crate) fn init(command: &Command) {
    let (unasked, format) = match command {
        Command::Run(args) => ("info", args.log_format),
        _ => ("off", LogFormat::Text),
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(unasked));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().flatten_event(true).init(),
    }
}
