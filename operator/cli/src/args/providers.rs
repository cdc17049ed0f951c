//! `providers` and what else is done with them.

use std::path::PathBuf;

use ashlar_addr::Provider;
use ashlar_install::Platform;
use clap::{Args, Subcommand};

use super::shared::{Fetching, Language, Place, Values};

/// `ashlar providers`
#[derive(Args)]
pub(crate) struct ProvidersArgs {
    /// Instead of listing them.
    #[command(subcommand)]
    pub(crate) command: Option<ProvidersCommand>,
    #[command(flatten)]
    pub(crate) place: Place,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) fetching: Fetching,
    #[command(flatten)]
    pub(crate) language: Language,
}

/// What else is done with providers.
#[derive(Subcommand)]
pub(crate) enum ProvidersCommand {
    /// Settle versions and checksums of providers in .terraform.lock.hcl, for several platforms. They are taken from the
    /// registries that their addresses name, whatever provider_installation says, so that what a mirror hands out can be judged
    /// by them.
    Lock(ProvidersLockArgs),
    /// Lay the packages of all providers into a folder, from their registries: as a mirror for --mirror or filesystem_mirror, and,
    /// behind a web server, for network_mirror.
    Mirror(ProvidersMirrorArgs),
}

/// `ashlar providers mirror`
#[derive(Args)]
pub(crate) struct ProvidersMirrorArgs {
    /// Folder of the root module.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Platform to lay them out for, such as linux_arm64 (repeat for more); this one by default.
    #[arg(long = "platform", value_name = "OS_ARCH")]
    pub(crate) platforms: Vec<Platform>,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) language: Language,
    /// The folder; it is made if need be, and what lies there stays.
    #[arg(value_name = "TARGET")]
    pub(crate) target: PathBuf,
}

/// `ashlar providers lock`
#[derive(Args)]
pub(crate) struct ProvidersLockArgs {
    /// Folder of the root module.
    #[arg(long, default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Platform to settle them for, such as linux_arm64 (repeat for more); this one by default.
    #[arg(long = "platform", value_name = "OS_ARCH")]
    pub(crate) platforms: Vec<Platform>,
    /// Take them from this folder instead.
    #[arg(long, value_name = "DIR", conflicts_with = "net_mirror")]
    pub(crate) fs_mirror: Option<PathBuf>,
    /// Take them from the network mirror at this https: address instead.
    #[arg(long, value_name = "URL")]
    pub(crate) net_mirror: Option<String>,
    #[command(flatten)]
    pub(crate) values: Values,
    #[command(flatten)]
    pub(crate) language: Language,
    /// These providers alone, by their source addresses.
    #[arg(value_name = "PROVIDER")]
    pub(crate) providers: Vec<Provider>,
}
