//! Where the providers of a folder come from.
//!
//! As with Terraform: `--mirror` names folders, and nothing else is used then; else `provider_installation` in the CLI configuration
//! says it; else providers that lie in one of Terraform's own folders come from there, and all others from their registries.
//! Source: Terraform `provider_source.go`.

use std::path::{Path, PathBuf};

use ashlar_addr::Provider;
use ashlar_install::{
    Cache, CliConfig, Installation, Installer, Location, Method, Notice, Pattern, providers_in,
};
use ashlar_sources::{Client, Limits, Reach};

use super::{cli_config, credentials, session::cache_folder};
use crate::{args::Place, printer::Printer};

/// The installer for a folder.
pub(crate) fn installer(place: &Place, dir: &Path, printer: &Printer) -> anyhow::Result<Installer> {
    let cache = Cache::new(cache_folder(dir).join("plugins"), Cache::USUAL_BYTES);
    let config = cli_config::load(printer)?;
    let installation = installation(place, dir, &config);
    let client = match installation.is_remote() {
        true => Some(client(&config)?),
        false => None,
    };
    let teller = *printer;
    Ok(Installer::new(installation, cache, client)
        .with_plugin_cache(config.plugin_cache)
        .with_digests_in(cache_folder(dir).join("digests"))
        .telling(move |notice| tell(&teller, &notice)))
}

/// One that has providers from one place alone, whatever the CLI configuration says of it.
pub(crate) fn from_one_place(location: Location, dir: &Path, printer: &Printer) -> anyhow::Result<Installer> {
    let cache = Cache::new(cache_folder(dir).join("plugins"), Cache::USUAL_BYTES);
    let client = match location.is_remote() {
        true => Some(client(&cli_config::load(printer)?)?),
        false => None,
    };
    let installation = Installation {
        methods: vec![Method::of(location)],
        ..Installation::default()
    };
    let teller = *printer;
    Ok(Installer::new(installation, cache, client).telling(move |notice| tell(&teller, &notice)))
}

/// What talks to registries and mirrors, as patient as Terraform is told to be.
fn client(config: &CliConfig) -> anyhow::Result<Client> {
    let limits = Limits {
        // The largest providers have some 200 MB, and lines are slow.
        package_bytes: 2 << 30,
        time: std::time::Duration::from_secs(3600),
        ..Limits::default()
    };
    let retries = std::env::var("TF_REGISTRY_DISCOVERY_RETRY").ok();
    let retries = retries
        .and_then(|text| text.parse().ok())
        .filter(|count| *count > 0);
    let client = Client::new(limits, Reach::everything(), credentials::keyring(config))?;
    Ok(client.with_retries(retries.unwrap_or(1)))
}

fn installation(place: &Place, dir: &Path, config: &CliConfig) -> Installation {
    let said = config.installation.clone();
    if !place.mirrors.is_empty() {
        return Installation {
            overrides: said.map(|said| said.overrides).unwrap_or_default(),
            ..Installation::of_folders(place.mirrors.clone())
        };
    }
    said.unwrap_or_else(|| implied(dir, std::env::home_dir().as_deref(), &data_folders()))
}

/// What is meant where nobody says it.
fn implied(dir: &Path, home: Option<&Path>, data: &[PathBuf]) -> Installation {
    let own = [dir.join("terraform.d/plugins")];
    let folders: Vec<PathBuf> = own
        .into_iter()
        .chain(home.map(|home| home.join(".terraform.d/plugins")))
        .chain(data.iter().map(|folder| folder.join("terraform/plugins")))
        .filter(|folder| folder.is_dir())
        .collect();
    // What lies there by hand is never taken from elsewhere.
    let exclude = folders
        .iter()
        .flat_map(|folder| providers_in(folder))
        .map(|provider: Provider| Pattern::from(&provider))
        .collect();
    let mut methods = Vec::new();
    // What Terraform's init has put there is as good as what would be fetched.
    let initialised = dir.join(".terraform/providers");
    if initialised.is_dir() {
        methods.push(Method::of(Location::Filesystem(initialised)));
    }
    methods.extend(folders.into_iter().map(Location::Filesystem).map(Method::of));
    methods.push(Method {
        exclude,
        ..Method::of(Location::Direct)
    });
    Installation {
        methods,
        ..Installation::default()
    }
}

/// Where programs keep data that is a person's own or all persons', by the XDG Base Directory Specification.
fn data_folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let own = variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".local/share")));
    let shared = variable("XDG_DATA_DIRS").unwrap_or_else(|| "/usr/local/share:/usr/share".into());
    own.into_iter()
        .chain(std::env::split_paths(&shared))
        .filter(|folder| folder.is_absolute())
        .collect()
}

fn tell(printer: &Printer, notice: &Notice) {
    match notice {
        Notice::Fetching(provider, version, place) => printer.note(&format!(
            "Installing {} v{version} from {place}...",
            provider.for_display()
        )),
        Notice::Fetched(provider, version, key) => {
            let by = match key {
                Some(key) => format!("signed, key ID {key}"),
                None => "unsigned; what the mirror says of it holds".to_owned(),
            };
            printer.note(&format!(
                "Installed {} v{version} ({by}).",
                provider.for_display()
            ));
        }
        Notice::Warning(provider, text) => printer.note(&format!(
            "The registry says of {}: {text}",
            provider.for_display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_in_terraforms_folders_is_not_taken_from_elsewhere() {
        let root = tempfile::tempdir().unwrap();
        let (dir, home, data) = (
            root.path().join("dir"),
            root.path().join("home"),
            root.path().join("data"),
        );
        let place = |base: &Path, provider: &str| {
            let folder = base.join(provider).join("1.0.0/linux_amd64");
            std::fs::create_dir_all(folder).unwrap();
        };
        place(&dir.join("terraform.d/plugins"), "forge.test/studio/kiln");
        place(&dir.join(".terraform/providers"), "forge.test/studio/other");
        place(
            &data.join("terraform/plugins"),
            "registry.terraform.io/hashicorp/tls",
        );
        let implied = implied(&dir, Some(&home), std::slice::from_ref(&data));
        let direct = implied.methods.last().unwrap();
        assert_eq!(implied.methods.len(), 4, "{implied:?}");
        for (provider, want) in [
            ("forge.test/studio/kiln", false),
            ("hashicorp/tls", false),
            ("forge.test/studio/other", true),
            ("hashicorp/random", true),
        ] {
            assert_eq!(direct.serves(&provider.parse().unwrap()), want, "{provider}");
        }
    }
}
