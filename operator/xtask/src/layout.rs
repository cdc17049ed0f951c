//! Where things are: the source tree, and the cache folder outside it.
//!
//! Builds of pinned tools take minutes and hundreds of megabytes, so they must never land in the tree, where a clean
//! clone would lose them.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};

/// The root of the source tree that cargo runs this from. Cargo is asked when it runs, not when it was built: a build folder
/// may be shared by checkouts, and this program with it.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let run_from = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let package = run_from.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
        let root = package
            .ancestors()
            .find(|folder| folder.join("Cargo.lock").is_file());
        root.unwrap_or(&package).to_owned()
    })
}

/// The cache folder: `$ASHLAR_CACHE`, else `$XDG_CACHE_HOME/ashlar`, else `~/.cache/ashlar`. It need not exist yet.
pub fn cache() -> Result<PathBuf> {
    let set = |name: &str| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folder = match (set("ASHLAR_CACHE"), set("XDG_CACHE_HOME")) {
        (Some(own), _) => own,
        (None, Some(base)) => base.join("ashlar"),
        (None, None) => set("HOME")
            .context("no cache folder: set ASHLAR_CACHE, XDG_CACHE_HOME or HOME")?
            .join(".cache/ashlar"),
    };
    std::path::absolute(&folder).with_context(|| format!("{} is no usable path", folder.display()))
}
