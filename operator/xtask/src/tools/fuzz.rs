//! cargo-fuzz, which builds the fuzzers with the flags that they need, and runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::cache::{self, Key};
use crate::process;

const VERSION: &str = "0.13.1";

/// The cache entry that holds the program `cargo-fuzz`.
pub(super) fn build() -> Result<PathBuf> {
    cache::entry("cargo-fuzz", &Key::new(VERSION).finish(), fill)
}

fn fill(draft: &Path) -> Result<()> {
    let cargo = process::need("cargo", "install cargo-fuzz")?;
    let mut install = Command::new(cargo);
    install.args([
        "install",
        "cargo-fuzz",
        "--locked",
        "--version",
        VERSION,
        "--root",
    ]);
    install.arg(draft).arg("--target-dir").arg(draft.join("target"));
    process::logged(
        "cargo-fuzz: install",
        &mut install,
        &cache::folder()?.join("cargo-fuzz.log"),
    )?;
    process::remove_folder(&draft.join("target"))
}
