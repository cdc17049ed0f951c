//! The pinned tools that tests need and the product does not: built once, kept in the cache folder, found by hash.
//!
//! A second call finds everything in place and starts no process. Nothing is taken from PATH in place of a pinned tool.

mod cache;
mod clouds;
mod fuzz;
mod go;
mod mirror;
mod terraform;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;

/// Tools that are built together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Group {
    /// random, tls, time, local, and the test providers kiln, kilnv5 and snoop, in one plugin mirror.
    #[value(alias = "testproviders")]
    Providers,
    /// kube-apiserver, kube-controller-manager and etcd.
    Kube,
    /// helm.
    Helm,
    /// Terraform, to compare with.
    Terraform,
    /// Flux's source-controller, with the definitions of its kinds.
    Flux,
    /// Servers of sources on loopback: git over http and ssh, an OCI registry, and a fake module registry.
    Hosts,
    /// The providers kubernetes and aws in a plugin mirror with those of `Providers`, and moto, which answers as AWS does;
    /// built where they are needed.
    Clouds,
    /// cargo-fuzz; built only when named.
    Fuzz,
    /// kubelet, kube-scheduler and kube-proxy; built only when named.
    Node,
}

impl Group {
    /// What is built when no group is named.
    pub const DEFAULT: [Group; 6] = [
        Group::Providers,
        Group::Kube,
        Group::Helm,
        Group::Terraform,
        Group::Hosts,
        Group::Flux,
    ];

    fn build(self, files: &mut BTreeMap<&'static str, PathBuf>) -> Result<()> {
        match self {
            Group::Providers => {
                let entries = [go::build(&go::PROVIDERS)?, go::build(&go::TEST_PROVIDERS)?];
                let (plugins, settings) = mirror::join(&entries)?;
                files.insert("ASHLAR_PLUGIN_MIRROR", plugins);
                files.insert("ASHLAR_TERRAFORM_CONFIG", settings);
            }
            Group::Kube => {
                let entry = go::build(&go::KUBE)?;
                files.insert("ASHLAR_KUBE_APISERVER", entry.join("kube-apiserver"));
                files.insert(
                    "ASHLAR_KUBE_CONTROLLER_MANAGER",
                    entry.join("kube-controller-manager"),
                );
                files.insert("ASHLAR_ETCD", entry.join("etcd"));
            }
            Group::Helm => {
                files.insert("ASHLAR_HELM", go::build(&go::HELM)?.join("helm"));
            }
            Group::Terraform => {
                files.insert("ASHLAR_TERRAFORM", terraform::build()?.join("terraform"));
            }
            Group::Flux => {
                let entry = go::build(&go::FLUX)?;
                files.insert("ASHLAR_FLUX_SOURCE_CONTROLLER", entry.join("source-controller"));
                files.insert("ASHLAR_FLUX_DEFINITIONS", entry.join("definitions"));
            }
            Group::Hosts => {
                files.insert("ASHLAR_HOSTS", go::build(&go::HOSTS)?.join("hosts"));
            }
            Group::Clouds => {
                let providers = [
                    go::build(&go::PROVIDERS)?,
                    go::build(&go::CLOUDS)?,
                    clouds::aws()?,
                ];
                let (plugins, settings) = mirror::join(&providers)?;
                files.insert("ASHLAR_CLOUD_MIRROR", plugins);
                files.insert("ASHLAR_CLOUD_TERRAFORM_CONFIG", settings);
                files.insert("ASHLAR_MOTO", clouds::moto()?);
            }
            Group::Fuzz => {
                files.insert("ASHLAR_CARGO_FUZZ", fuzz::build()?.join("bin/cargo-fuzz"));
            }
            Group::Node => {
                let entry = go::build(&go::NODE)?;
                files.insert("ASHLAR_KUBELET", entry.join("kubelet"));
                files.insert("ASHLAR_KUBE_SCHEDULER", entry.join("kube-scheduler"));
                files.insert("ASHLAR_KUBE_PROXY", entry.join("kube-proxy"));
            }
        }
        Ok(())
    }
}

/// Paths of built tools by the environment variable that names them.
#[derive(Clone, Debug, Default)]
pub struct Tools(BTreeMap<&'static str, PathBuf>);

impl Tools {
    /// The path that goes by this variable. It fails when its group was not asked for.
    pub fn path(&self, variable: &str) -> Result<&Path> {
        self.0
            .get(variable)
            .map(PathBuf::as_path)
            .with_context(|| format!("{variable} is in no group that was built"))
    }

    /// All variables with their paths, by name.
    pub fn variables(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.0.iter().map(|(name, path)| (*name, path.as_path()))
    }

    /// Hands all variables to a command.
    pub fn set<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.envs(self.variables())
    }
}

/// Builds what is missing of these groups. All are tried; the error names each that failed.
pub fn build(groups: &[Group]) -> Result<Tools> {
    let mut files = BTreeMap::new();
    let mut faults = Vec::new();
    for group in groups {
        if let Err(error) = group.build(&mut files) {
            faults.push(format!("{group:?}: {error:#}"));
        }
    }
    if !faults.is_empty() {
        bail!("some tools could not be built:\n{}", faults.join("\n"));
    }
    Ok(Tools(files))
}
