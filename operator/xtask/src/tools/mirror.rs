//! One plugin mirror out of several cache entries, made of hard links, and a Terraform configuration that names it.
//!
//! The mirror has published providers under the default host of Terraform and, the same files, under that of OpenTofu.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::cache::{self, Key};
use super::go;

const TERRAFORM_HOST: &str = "registry.terraform.io";
const OPENTOFU_HOST: &str = "registry.opentofu.org";

/// Joins the entries. Returns the mirror's folder and the configuration file beside it.
pub(super) fn join(entries: &[PathBuf]) -> Result<(PathBuf, PathBuf)> {
    let names: Vec<_> = entries
        .iter()
        .map(|entry| entry.file_name().unwrap_or_default().to_string_lossy())
        .collect();
    let key = Key::new(&names.join("\n")).finish();
    let entry = cache::entry("mirror", &key, |draft| {
        let plugins = draft.join("plugins");
        for entry in entries {
            link_tree(entry, &plugins)?;
        }
        link_tree(&plugins.join(TERRAFORM_HOST), &plugins.join(OPENTOFU_HOST))
    })?;
    let plugins = entry.join("plugins");
    let settings = entry.join("terraformrc");
    if !settings.exists() {
        // Written last and apart: it holds the final path, which the draft did not have.
        let text = format!(
            "disable_checkpoint = true\nprovider_installation {{\n  filesystem_mirror {{\n    path    = {:?}\n    \
             include = [\"*/*/*\"]\n  }}\n}}\n",
            plugins.display().to_string()
        );
        let draft = entry.join(format!("terraformrc.{}", std::process::id()));
        fs::write(&draft, text).with_context(|| format!("cannot write {}", draft.display()))?;
        fs::rename(&draft, &settings)?;
    }
    Ok((plugins, settings))
}

fn link_tree(from: &Path, to: &Path) -> Result<()> {
    for path in cache::sorted(from)? {
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            link_tree(&path, &target)?
        } else {
            go::link_file(&path, &target)?
        }
    }
    Ok(())
}
