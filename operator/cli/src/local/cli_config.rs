//! Terraform's CLI configuration, from the files and variables that Terraform reads.
//!
//! Source: Terraform `internal/command/cliconfig`. What it says is read by `install`; a file that cannot be read stops the command,
//! because it may say that providers come from elsewhere than from the internet.

use std::{
    path::{Path, PathBuf},
    sync::Once,
};

use anyhow::Context;
use ashlar_diag::{Diag, Sources, decode};
use ashlar_install::CliConfig;

use crate::printer::Printer;

/// What all files and the environment say together.
pub(crate) fn load(printer: &Printer) -> anyhow::Result<CliConfig> {
    let variables = |name: &str| std::env::var(name).ok();
    let mut all = CliConfig {
        plugin_cache: variables("TF_PLUGIN_CACHE_DIR")
            .filter(|folder| !folder.is_empty())
            .map(PathBuf::from),
        ..CliConfig::default()
    };
    let named = named();
    let paths = match &named {
        Some(path) => vec![path.clone()],
        None => usual(std::env::home_dir().as_deref()),
    };
    for path in paths {
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if named.is_some() {
                    warn_of_missing(&path, printer);
                }
                continue;
            }
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("The CLI configuration {} cannot be read", path.display()));
            }
        };
        let name = path.display().to_string();
        let read = CliConfig::parse(&name, &decode(&name, bytes), &variables)
            .and_then(|read| all.and(read))
            .context("The CLI configuration cannot be used")?;
        all = read;
    }
    let tokens = std::env::vars().filter_map(|(name, value)| Some((token_host(&name)?, value)));
    all.tokens.extend(tokens);
    if let Some(folder) = all.plugin_cache.as_ref().filter(|folder| !folder.is_dir()) {
        anyhow::bail!(
            "The specified plugin cache dir {} cannot be opened: there is no such folder. Make it, or leave plugin_cache_dir out of \
             the CLI configuration (TF_PLUGIN_CACHE_DIR).",
            folder.display()
        );
    }
    Ok(all)
}

/// The file that the environment names, if it names one; no other counts then.
fn named() -> Option<PathBuf> {
    ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"]
        .iter()
        .find_map(|name| std::env::var_os(name).filter(|path| !path.is_empty()))
        .map(PathBuf::from)
}

/// Once in a command, however often the configuration is read.
fn warn_of_missing(path: &Path, printer: &Printer) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        let detail = format!(
            "The CLI configuration file at {path:?} does not exist. TF_CLI_CONFIG_FILE names it, so no other is read, either: what it \
             should say of mirrors and credentials does not count. Make it, or unset that variable."
        );
        let diag = Diag::warning("Unable to open CLI configuration file", detail);
        printer.diags(&diag.into(), &Sources::new());
    });
}

/// The files that are read where none is named; of what two say the first one's word counts.
fn usual(home: Option<&Path>) -> Vec<PathBuf> {
    let Some(home) = home else { return Vec::new() };
    let entries = std::fs::read_dir(home.join(".terraform.d"))
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let mut more: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with(".tfrc") || name.ends_with(".tfrc.json")
        })
        .collect();
    more.sort();
    std::iter::once(home.join(".terraformrc")).chain(more).collect()
}

/// The host that a variable `TF_TOKEN_…` is for: dots are underscores, dashes two of them.
fn token_host(name: &str) -> Option<String> {
    let host = name.strip_prefix("TF_TOKEN_")?;
    Some(host.replace("__", "-").replace('_', ".").to_lowercase()).filter(|host| !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_where_terraform_has_them() {
        for (name, want) in [
            ("TF_TOKEN_app_terraform_io", Some("app.terraform.io")),
            ("TF_TOKEN_my__host_test", Some("my-host.test")),
            ("TF_TOKEN_", None),
            ("TF_VAR_x", None),
        ] {
            assert_eq!(token_host(name).as_deref(), want, "{name}");
        }
    }
}
