//! Fetching from servers on this machine: real git over HTTP, SSH and files; the others are stand-ins that say so.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod artifact;
mod buckets;
mod git;
mod git_server;
mod hostile;
mod modules;
mod oci;
mod pack;
mod server;
mod ssh_server;

use std::{collections::BTreeMap, fs, path::Path};

use ashlar_sources::{Content, Fetcher, Limits, Reach};
use tempfile::TempDir;

/// A folder for a test, with a fetcher that reaches this machine.
struct Place {
    root: TempDir,
    fetcher: Fetcher,
}

fn place() -> Place {
    place_with(Limits::default())
}

fn place_with(limits: Limits) -> Place {
    let root = tempfile::tempdir().unwrap();
    let reach = Reach::guarded(
        ["127.0.0.0/8", "::1/128"]
            .map(|network| network.parse().unwrap())
            .to_vec(),
    );
    let fetcher = Fetcher::new(root.path().join("cache"), limits, reach).unwrap();
    Place { root, fetcher }
}

/// The files of a content, with their texts.
fn files(content: &Content) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    gather(&content.folder, "", &mut all);
    all
}

fn gather(folder: &Path, prefix: &str, all: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            gather(&entry.path(), &format!("{name}/"), all);
        } else {
            assert!(entry.file_type().unwrap().is_file(), "{name}");
            all.insert(name, fs::read_to_string(entry.path()).unwrap());
        }
    }
}

/// Files as they are expected.
fn some(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect()
}
