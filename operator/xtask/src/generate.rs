//! `cargo xtask gen`: files of the tree that a program writes. Each has one entry in a table.
//!
//! A generated file is never edited by hand: `check` fails when one differs from what its program prints.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use ashlar_xtask::{layout, process};

use crate::cargo::{Profile, build_ashlar};
use crate::{language, manual};

/// Write the generated files.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when a file is stale.
    #[arg(long)]
    check: bool,
}

/// One command of `ashlar` whose output belongs into the tree.
struct Source {
    /// The subcommand; it prints YAML documents, each with `metadata.name`.
    command: &'static str,
    /// The folder that holds one file per document, and nothing else ending in `.yaml`.
    folder: &'static str,
}

const SOURCES: &[Source] = &[
    Source {
        command: "crd",
        folder: "crds",
    },
    // A chart reads no file outside of itself.
    Source {
        command: "crd",
        folder: "charts/ashlar/definitions",
    },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check { check() } else { write() }
}

/// Fails when a generated file is missing, stale, or left over.
pub(crate) fn check() -> Result<()> {
    let stale: Vec<String> = differences()?
        .into_keys()
        .map(|file| file.display().to_string())
        .collect();
    if !stale.is_empty() {
        bail!(
            "stale generated files (`cargo xtask gen` writes them): {}",
            stale.join(", ")
        );
    }
    Ok(())
}

fn write() -> Result<()> {
    for (file, content) in differences()? {
        let path = layout::root().join(&file);
        match content {
            Some(content) => {
                fs::create_dir_all(path.parent().unwrap_or(layout::root()))?;
                fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
                println!("wrote {}", file.display());
            }
            None => {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
                println!("removed {}", file.display());
            }
        }
    }
    Ok(())
}

/// The files that are not as they should be, with the content they should have; `None` for one that should not be.
fn differences() -> Result<BTreeMap<PathBuf, Option<String>>> {
    let ashlar = build_ashlar(Profile::Dev)?;
    let mut differences = BTreeMap::new();
    for source in SOURCES {
        let printed = process::output(Command::new(&ashlar).arg(source.command))?;
        let wanted = documents(&printed).with_context(|| format!("ashlar {}", source.command))?;
        let folder = layout::root().join(source.folder);
        for file in yaml_files(&folder)? {
            if !wanted.contains_key(&file) {
                differences.insert(Path::new(source.folder).join(file), None);
            }
        }
        for (file, content) in wanted {
            if fs::read_to_string(folder.join(&file)).ok().as_deref() != Some(&content) {
                differences.insert(Path::new(source.folder).join(file), Some(content));
            }
        }
    }
    for (file, text) in [
        (manual::FILE, manual::text()),
        (language::FILE, language::text()?),
    ] {
        if fs::read_to_string(layout::root().join(file)).ok().as_deref() != Some(&text) {
            differences.insert(file.into(), Some(text));
        }
    }
    Ok(differences)
}

fn yaml_files(folder: &Path) -> Result<Vec<String>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names
        .filter(|name: &Result<String>| name.as_ref().is_ok_and(|name| name.ends_with(".yaml")))
        .collect()
}

/// Splits a YAML stream into documents, by file name.
fn documents(stream: &str) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for document in format!("\n{stream}").split("\n---\n") {
        let document = document.trim();
        if document.is_empty() {
            continue;
        }
        let name = name(document).context("a printed document has no metadata.name")?;
        if files
            .insert(format!("{name}.yaml"), format!("{document}\n"))
            .is_some()
        {
            bail!("two printed documents are named {name}");
        }
    }
    if files.is_empty() {
        bail!("nothing was printed");
    }
    Ok(files)
}

/// `metadata.name` of a document in block style.
fn name(document: &str) -> Option<&str> {
    let metadata = document.lines().skip_while(|line| *line != "metadata:").skip(1);
    let name = metadata
        .take_while(|line| line.starts_with(' '))
        .find_map(|line| line.strip_prefix("  name: "))?;
    Some(name.trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_split_into_one_file_per_document() {
        let stream = "---\nkind: A\nmetadata:\n  labels:\n    name: no\n  name: a.x\nspec:\n  text: |\n    x\n---\nmetadata:\n  name: \"b\"\n";
        let files = documents(stream).unwrap();
        assert_eq!(files.keys().collect::<Vec<_>>(), ["a.x.yaml", "b.yaml"]);
        assert!(files["a.x.yaml"].starts_with("kind: A\n") && files["a.x.yaml"].ends_with("    x\n"));
    }

    #[test]
    fn a_stream_without_names_or_with_one_name_twice_is_refused() {
        for stream in [
            "",
            "kind: A\n",
            "metadata:\n  name: a\n---\nmetadata:\n  name: a\n",
        ] {
            assert!(documents(stream).is_err(), "{stream:?}");
        }
    }
}
