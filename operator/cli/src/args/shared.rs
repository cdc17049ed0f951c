//! Arguments that several commands take.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args};

use crate::local::backend::Elsewhere;

/// Where the configuration is.
#[derive(Args)]
pub(crate) struct Place {
    /// Folder of the root module and its state.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Folder with provider packages (repeat for more); tried in order.
    #[arg(
        long = "mirror",
        visible_alias = "plugin-dir",
        env = "ASHLAR_PLUGIN_MIRROR",
        value_delimiter = ':'
    )]
    pub(crate) mirrors: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) backends: Backends,
}

/// What to do where the configuration has the state kept elsewhere.
#[derive(Args, Clone, Copy)]
pub(crate) struct Backends {
    /// Keep the state in the folder although a `cloud` block or a `backend` block that is not `local` says otherwise. Bring what is in
    /// the state there over first.
    #[arg(
        long,
        env = "ASHLAR_IGNORE_BACKEND",
        value_name = "BOOL",
        default_value = "false",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = truth,
        action = ArgAction::Set
    )]
    ignore_backend: bool,
}

impl Backends {
    /// What is done about such a block.
    pub(crate) fn elsewhere(self) -> Elsewhere {
        if self.ignore_backend {
            Elsewhere::PassedOver
        } else {
            Elsewhere::Refused
        }
    }
}

/// Values of variables.
#[derive(Args)]
pub(crate) struct Values {
    /// Value of a variable: NAME=VALUE. Wins over files.
    #[arg(long = "var")]
    pub(crate) vars: Vec<String>,
    /// File with values of variables. Later ones win.
    #[arg(long = "var-file")]
    pub(crate) var_files: Vec<PathBuf>,
}

/// What every run takes: where it is, with which values, and how it goes about it.
#[derive(Args)]
pub(crate) struct Basics {
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) asking: Asking,
    /// Provider calls at once.
    #[arg(long, default_value_t = 10)]
    pub(crate) parallelism: usize,
    /// How long to wait for the lock of the state while another holds it: `30s`, `5m`.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub(crate) lock_timeout: Duration,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// May a person be asked?
#[derive(Args)]
pub(crate) struct Asking {
    /// Ask at a terminal for values that variables need, and for the approval? `--input=false` asks for nothing.
    #[arg(
        long,
        value_name = "BOOL",
        default_value = "true",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = truth,
        action = ArgAction::Set
    )]
    input: bool,
    /// The same as `--input=false`.
    #[arg(long)]
    no_input: bool,
}

impl Asking {
    /// Is it allowed? The environment may forbid it, too, as with Terraform.
    pub(crate) fn is_allowed(&self) -> bool {
        let forbidden = std::env::var("TF_INPUT").is_ok_and(|text| truth(&text) == Ok(false));
        self.input && !self.no_input && !forbidden
    }
}

/// To what a run is limited.
#[derive(Args, Default)]
pub(crate) struct Limits {
    /// Plan only this module, resource or instance, and what it needs (repeat for more).
    #[arg(long = "target", value_name = "ADDRESS", conflicts_with = "excludes")]
    pub(crate) targets: Vec<ashlar_addr::Target>,
    /// Leave out this module, resource or instance, and what needs it (repeat for more).
    #[arg(long = "exclude", value_name = "ADDRESS")]
    pub(crate) excludes: Vec<ashlar_addr::Target>,
}

/// How modules that lie elsewhere are fetched.
#[derive(Args)]
pub(crate) struct Fetching {
    /// Take the newest modules and providers that fit, and forget which ones were used so far.
    #[arg(long)]
    pub(crate) upgrade: bool,
}

/// Whose language it is.
#[derive(Args)]
pub(crate) struct Language {
    /// Read the configuration as this product does: terraform or opentofu.
    #[arg(long, default_value = "terraform")]
    pub(crate) dialect: ashlar_value::Dialect,
}

/// A time span as Go writes it: numbers with units, the larger first or not.
fn duration(text: &str) -> Result<Duration, &'static str> {
    const FAULT: &str = "a time span should stand here, such as 30s or 5m";
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let mut whole = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).ok_or(FAULT)?;
        let (number, more) = rest.split_at(digits);
        let unit = more.find(|c: char| c.is_ascii_digit()).unwrap_or(more.len());
        let (unit, more) = more.split_at(unit);
        let number: u64 = number.parse().map_err(|_| FAULT)?;
        let factor = match unit {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(FAULT),
        };
        let part = Duration::from_millis(number.checked_mul(factor).ok_or(FAULT)?);
        whole = whole.checked_add(part).ok_or(FAULT)?;
        rest = more;
    }
    if text.is_empty() { Err(FAULT) } else { Ok(whole) }
}

/// A truth value in any spelling that Terraform's options take.
pub(super) fn truth(text: &str) -> Result<bool, &'static str> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err("either true or false should stand here"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_spans_are_read_as_go_writes_them() {
        let check = |text: &str, want: Option<u64>| {
            let read = duration(text).ok().map(|span| span.as_secs());
            assert_eq!(read, want, "{text}");
        };
        check("0", Some(0));
        check("0s", Some(0));
        check("5m", Some(300));
        check("1h1m1s", Some(3661));
        for refused in ["", "5", "m", "5x", "-1s", "99999999999999999999s"] {
            check(refused, None);
        }
    }
}
