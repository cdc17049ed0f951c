//! Credentials for downloads, from where Terraform and its helpers have them.
//!
//! Tokens of registries: from the CLI configuration. For all else that is not git (which its own program fetches): `~/.netrc`,
//! Docker's accounts for OCI registries, AWS's keys and Google's token in the environment.

use std::path::PathBuf;

use ashlar_install::CliConfig;
use ashlar_sources::{Credentials, Keyring};

/// All credentials that this person has, with what the CLI configuration says of hosts.
pub(crate) fn keyring(config: &CliConfig) -> Keyring {
    let home = std::env::home_dir();
    let tokens = config.tokens.clone();
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
        .with_services(config.services.clone())
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
