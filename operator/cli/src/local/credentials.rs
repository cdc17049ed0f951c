//! Credentials for module downloads, from where Terraform and its helpers have them.
//!
//! Tokens of registries: `TF_TOKEN_…`, and `credentials` in the CLI configuration. For all else that is not git (which its
//! own program fetches): `~/.netrc`, Docker's accounts for OCI registries, AWS's keys and Google's token in the environment.
//! Source: Terraform `internal/command/cliconfig`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ashlar_diag::{Sources, decode};
use ashlar_eval::evaluate_constant;
use ashlar_sources::{Credentials, Keyring};
use ashlar_syntax::parse_file;
use serde_json::Value as Json;

use crate::printer::Printer;

/// All credentials that this person has.
pub(crate) fn keyring(printer: &Printer) -> Keyring {
    let home = std::env::home_dir();
    let mut tokens = BTreeMap::new();
    for path in cli_configs(home.as_deref()) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let name = path.display().to_string();
        match tokens_in(&name, &decode(&name, bytes)) {
            Some(found) => tokens.extend(found),
            None => printer.note(&format!(
                "{name} cannot be read as a CLI configuration; credentials in it are not used."
            )),
        }
    }
    tokens.extend(std::env::vars().filter_map(|(name, value)| Some((token_host(&name)?, value))));
    let netrc = std::env::var_os("NETRC")
        .map(PathBuf::from)
        .or_else(|| home.as_deref().map(|home| home.join(".netrc")));
    let netrc = netrc
        .and_then(|path| std::fs::read_to_string(path).ok())
        .unwrap_or_default();
    let docker = home.and_then(|home| std::fs::read(home.join(".docker/config.json")).ok());
    let registries = docker.map(|json| [(".dockerconfigjson".to_owned(), json)].into());
    // A configuration with a credential store has no accounts in it.
    let registries = registries
        .and_then(|data| Credentials::from_secret(&data).ok())
        .unwrap_or_default();
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let aws = variable("AWS_ACCESS_KEY_ID").zip(variable("AWS_SECRET_ACCESS_KEY"));
    let aws = aws.map(|(key, secret)| (key, secret, variable("AWS_SESSION_TOKEN")));
    let google = variable("GOOGLE_OAUTH_ACCESS_TOKEN");
    let others = move |host: &str| {
        let mut found = netrc_account(&netrc, host).unwrap_or_default();
        found.registries.clone_from(&registries.registries);
        if host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn") {
            found.access_key.clone_from(&aws);
        }
        if host.ends_with(".googleapis.com") {
            found.bearer_token.clone_from(&google);
        }
        Some(found)
    };
    Keyring::default()
        .with_fallback(others)
        .with_tokens(move |host| tokens.get(host).cloned())
}

/// Files of the CLI configuration; later ones win.
fn cli_configs(home: Option<&Path>) -> Vec<PathBuf> {
    let named = ["TF_CLI_CONFIG_FILE", "TERRAFORM_CONFIG"];
    if let Some(path) = named
        .iter()
        .find_map(std::env::var_os)
        .filter(|path| !path.is_empty())
    {
        return vec![path.into()];
    }
    let Some(home) = home else { return Vec::new() };
    let folder = home.join(".terraform.d");
    let entries = std::fs::read_dir(folder)
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

/// Tokens by host in a CLI configuration; none if it cannot be read.
fn tokens_in(name: &str, text: &str) -> Option<BTreeMap<String, String>> {
    if name.ends_with(".json") {
        let json: Json = serde_json::from_str(text).ok()?;
        let hosts = json.get("credentials").and_then(Json::as_object);
        let token = |(host, value): (&String, &Json)| {
            let token = value.get("token")?.as_str()?;
            Some((host.to_lowercase(), token.to_owned()))
        };
        return Some(hosts.into_iter().flatten().filter_map(token).collect());
    }
    let mut sources = Sources::new();
    let file = sources.add(name, text);
    let (body, diags) = parse_file(&sources, file);
    if diags.has_errors() {
        return None;
    }
    let token = |block: &ashlar_syntax::Block| {
        let host = block.labels.first()?;
        let (value, faults) = evaluate_constant(&block.body.attribute("token")?.expr);
        let token = value.as_str().filter(|_| !faults.has_errors())?;
        Some((host.name.to_lowercase(), token.to_string()))
    };
    Some(body.blocks_of("credentials").filter_map(token).collect())
}

/// The account for a host in a `.netrc` file.
fn netrc_account(text: &str, host: &str) -> Option<Credentials> {
    let host = host.split(':').next().unwrap_or(host);
    let mut words = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'))
        .flat_map(str::split_whitespace);
    let (mut here, mut login, mut password) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            "machine" | "default" => {
                if here {
                    break;
                }
                here = word == "default" || words.next() == Some(host);
            }
            "login" if here => login = words.next(),
            "password" if here => password = words.next(),
            _ => {}
        }
    }
    Some(Credentials::account(login?, password?)).filter(|_| here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_found_where_terraform_has_them() {
        let check = |name: &str, text: &str, want: Option<&[(&str, &str)]>| {
            let want = want.map(|pairs| {
                pairs
                    .iter()
                    .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                    .collect()
            });
            assert_eq!(tokens_in(name, text), want, "{text}");
        };
        check(
            "x.tfrc",
            "plugin_cache_dir = \"x\"\ncredentials \"App.Test\" {\n  token = \"t\"\n}\n",
            Some(&[("app.test", "t")]),
        );
        check("x.tfrc", "credentials \"a\" {}\n", Some(&[]));
        check("x.tfrc", "credentials {", None);
        check(
            "x.json",
            r#"{"credentials": {"a.test": {"token": "t"}, "b": {}}}"#,
            Some(&[("a.test", "t")]),
        );
        check("x.json", "{}", Some(&[]));
        check("x.json", "{", None);
        for (name, want) in [
            ("TF_TOKEN_app_terraform_io", Some("app.terraform.io")),
            ("TF_TOKEN_my__host_test", Some("my-host.test")),
            ("TF_TOKEN_", None),
            ("TF_VAR_x", None),
        ] {
            assert_eq!(token_host(name).as_deref(), want, "{name}");
        }
    }

    #[test]
    fn netrc_is_read() {
        let text = "# machine c.test login c password c\nmachine a.test\n login a password pa\nmachine b.test login b\n password pb\ndefault login d password pd\n";
        let check = |text: &str, host: &str, want: Option<(&str, &str)>| {
            let got = netrc_account(text, host);
            let got = got
                .as_ref()
                .map(|got| (got.username.as_deref().unwrap(), got.password.as_deref().unwrap()));
            assert_eq!(got, want, "{host}");
        };
        check(text, "a.test", Some(("a", "pa")));
        check(text, "b.test:8443", Some(("b", "pb")));
        check(text, "c.test", Some(("d", "pd")));
        check("machine a.test login a", "a.test", None);
        check("", "a.test", None);
    }
}
