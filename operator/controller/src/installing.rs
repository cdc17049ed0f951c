//! Where the providers of all workspaces come from: as whoever runs the operator says it, and nobody else.
//!
//! Without a word of it they come from the mirrors' folders alone, and no network is used. What is fetched goes through the same guards
//! as sources do. Tokens are read anew each time they are shown, so that a Secret may change; all else is read once.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::Context as _;
use ashlar_install::{Cache, CliConfig, Installation, Installer, Location, Method, Notice};
use ashlar_sources::{Client, Credentials, Keyring, Limits, Reach};

use crate::args::OperatorArgs;

/// The names that a CLI configuration may have in the Secret.
const NAMES: [&str; 3] = ["terraformrc", "terraformrc.json", ".terraformrc"];

/// The installer of all runs.
pub(crate) fn installer(args: &OperatorArgs, cache: PathBuf) -> anyhow::Result<Installer> {
    let own = &args.providers;
    let digests = cache.join("digests");
    let cache = Cache::new(cache, u64::from(own.provider_cache_mib) << 20)
        .with_unpacked(u64::from(own.provider_unpacked_mib) << 20);
    let variables = |name: &str| std::env::var(name).ok();
    let mut config = match own
        .provider_installation
        .as_deref()
        .filter(|text| !text.trim().is_empty())
    {
        Some(text) => CliConfig::parse_value("providers.installation", text, &variables)
            .context("the installation of providers cannot be understood")?,
        None => CliConfig::default(),
    };
    if let Some(folder) = &own.provider_secret_dir {
        config = config
            .and(in_folder(folder)?)
            .context("the installation of providers is given twice")?;
    }
    let said = config.installation.take().unwrap_or_default();
    let folders = args
        .mirrors
        .iter()
        .cloned()
        .map(Location::Filesystem)
        .map(Method::of);
    let installation = Installation {
        methods: folders.chain(said.methods).collect(),
        overrides: said.overrides,
    };
    let client = if installation.is_remote() {
        let limits = Limits {
            package_bytes: u64::from(own.provider_package_mib) << 20,
            time: Duration::from_secs(own.provider_timeout.into()),
            ..Limits::default()
        };
        let reach = Reach::guarded(args.sources.permit_networks.clone());
        let ring = keyring(config, own.provider_secret_dir.clone())?;
        Some(Client::new(limits, reach, ring).context("providers cannot be fetched")?)
    } else {
        None
    };
    let installer = Installer::new(installation, cache, client).with_digests_in(digests);
    Ok(installer.telling(|notice| tell(&notice)))
}

/// The CLI configuration in a folder that a Secret is mounted at, if there is one.
fn in_folder(folder: &Path) -> anyhow::Result<CliConfig> {
    for name in NAMES {
        let path = folder.join(name);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => {
                return Err(error).with_context(|| format!("{} cannot be read", path.display()));
            }
        };
        let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{} is no text", path.display()))?;
        let variables = |name: &str| std::env::var(name).ok();
        return Ok(CliConfig::parse(&path.display().to_string(), &text, &variables)?);
    }
    Ok(CliConfig::default())
}

/// What is shown to whom: tokens to registries and mirrors, accounts of `.dockerconfigjson` to OCI registries; and the certificate
/// authorities of `ca.crt` are trusted for all of them.
fn keyring(config: CliConfig, folder: Option<PathBuf>) -> anyhow::Result<Keyring> {
    let mut data = BTreeMap::new();
    for name in [".dockerconfigjson", "ca.crt"] {
        let read = folder.as_ref().map(|folder| std::fs::read(folder.join(name)));
        if let Some(Ok(bytes)) = read {
            data.insert(name.to_owned(), bytes);
        }
    }
    let shared = Credentials::from_secret(&data).context("the Secret for providers cannot be used")?;
    let (tokens, services) = (config.tokens, config.services);
    let theirs = folder.as_deref().and_then(|folder| in_folder(folder).ok());
    let theirs: BTreeSet<String> =
        theirs.map_or_else(BTreeSet::new, |theirs| theirs.tokens.into_keys().collect());
    Ok(Keyring::default()
        .with_fallback(move |_| Some(shared.clone()))
        .with_tokens(move |host| token(host, &tokens, &theirs, folder.as_deref()))
        .with_services(services))
}

/// The token of a host: the Secret's as it is now, else the one that was there first, unless that was the Secret's and was
/// taken out. `theirs`: the hosts of which the Secret had one.
fn token(
    host: &str,
    first: &BTreeMap<String, String>,
    theirs: &BTreeSet<String>,
    folder: Option<&Path>,
) -> Option<String> {
    let own = || first.get(host).cloned();
    match folder.map(in_folder) {
        Some(Ok(mut now)) => now
            .tokens
            .remove(host)
            .or_else(|| own().filter(|_| !theirs.contains(host))),
        // What cannot be read for a moment says nothing.
        Some(Err(_)) | None => own(),
    }
}

fn tell(notice: &Notice) {
    match notice {
        Notice::Fetching(provider, version, place) => {
            tracing::info!(%provider, %version, place, "a provider is installed");
        }
        Notice::Fetched(provider, version, key) => {
            tracing::info!(%provider, %version, key, "a provider was installed");
        }
        Notice::Warning(provider, text) => tracing::warn!(%provider, text, "a registry says of a provider"),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, FromArgMatches, Parser};

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: OperatorArgs,
    }

    fn given(arguments: &[&str]) -> OperatorArgs {
        // Whoever runs the tests may have mirrors of their own in the environment.
        let command = Line::command().mut_args(|argument| argument.env(None::<&str>));
        let given = command
            .try_get_matches_from([&["x"], arguments].concat())
            .unwrap();
        Line::from_arg_matches(&given).unwrap().args
    }

    fn places(arguments: &[&str]) -> Result<Vec<String>, String> {
        let provider = "hashicorp/random".parse().unwrap();
        installer(&given(arguments), "/nowhere".into())
            .map(|installer| installer.places(&provider))
            .map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn the_chart_says_what_the_arguments_do_and_its_volume_holds_it() {
        let chart = include_str!("../../../charts/ashlar/values.yaml");
        let values: serde_json::Value = serde_saphyr::from_str(chart).unwrap();
        let names = ["cacheMiB", "packageMiB", "unpackedMiB", "timeoutSeconds"];
        let said = names.map(|name| values["providers"]["limits"][name].as_u64().unwrap());
        let own = given(&[]).providers;
        let usual = [
            own.provider_cache_mib,
            own.provider_package_mib,
            own.provider_unpacked_mib,
            own.provider_timeout,
        ];
        assert_eq!(said, usual.map(u64::from));
        let [cache, package, unpacked, _] = said;
        assert!(
            unpacked <= cache,
            "{unpacked} MiB are unpacked at once in a cache of {cache}"
        );
        let volume = values["cache"]["sizeLimit"].as_str().unwrap();
        let volume: u64 = volume.strip_suffix("Mi").unwrap().parse().unwrap();
        assert_eq!(volume, cache + Installer::FETCHES as u64 * package + 512);
    }

    #[test]
    fn without_a_word_folders_alone_are_used() {
        assert_eq!(places(&[]), Ok(vec![]));
        assert_eq!(places(&["--mirror", "/m"]), Ok(vec!["the folder /m".to_owned()]));
        assert_eq!(places(&["--provider-installation", " "]), Ok(vec![]));
    }

    #[test]
    fn folders_go_before_what_is_said() {
        let list =
            r#"[{"network_mirror": {"url": "https://m.test/"}}, {"direct": {"exclude": ["hashicorp/*"]}}]"#;
        let got = places(&["--mirror", "/m", "--provider-installation", list]).unwrap();
        assert_eq!(got, ["the folder /m", "the provider mirror at https://m.test/"]);
        let told = places(&["--provider-installation", "[{\"registry\": {}}]"]).unwrap_err();
        assert!(told.contains("Unknown provider installation method"), "{told}");
    }

    #[test]
    fn a_secret_may_say_it_and_change_its_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_str().unwrap();
        let write = |token: &str| {
            let text = format!(
                "provider_installation {{\n  direct {{}}\n}}\ncredentials \"registry.terraform.io\" {{\n  token = \"{token}\"\n}}\n"
            );
            std::fs::write(folder.path().join("terraformrc"), text).unwrap();
        };
        write("one");
        let got = places(&["--provider-secret-dir", path]).unwrap();
        assert_eq!(got, ["the registry registry.terraform.io"]);
        let both = places(&["--provider-secret-dir", path, "--provider-installation", "[]"]).unwrap_err();
        assert!(both.contains("given twice"), "{both}");
        let first = [("h.test", "other"), ("gone.test", "theirs")];
        let first = first
            .map(|(host, token)| (host.to_owned(), token.to_owned()))
            .into();
        let theirs = ["gone.test".to_owned()].into();
        let shown = |host| token(host, &first, &theirs, Some(folder.path()));
        assert_eq!(shown("registry.terraform.io").as_deref(), Some("one"));
        write("two");
        assert_eq!(shown("registry.terraform.io").as_deref(), Some("two"));
        assert_eq!(shown("h.test").as_deref(), Some("other"));
        assert_eq!(shown("x.test"), None);
        assert_eq!(shown("gone.test"), None, "it was taken out of the Secret");
    }
}
