//! Where things are: the source tree, and the cache folder outside it.
//!
//! Builds of pinned tools take minutes and hundreds of megabytes, so they must never land in the tree, where a clean
//! clone would lose them.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The root of the source tree this tool was built from.
pub fn root() -> &'static Path {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    crate_folder.ancestors().nth(2).unwrap_or(crate_folder)
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
