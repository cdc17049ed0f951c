//! Where a folder's states lie: what its `backend` block says, as far as that is obeyed here, and what is done where it is not.
//!
//! A block that has the state kept elsewhere is refused by all that reads or writes a state, unless the person says to pass it over:
//! with an empty state in its place, all objects would be made a second time. Nothing here reads a state.
//!
//! Source of how such blocks override each other: `config`.

use std::path::Path;

use anyhow::{Context, bail};
use ashlar_config::{LocalBackend, read_root};
use ashlar_diag::{Diag, Diags, Sources, Span};
use ashlar_runner::read_folder;
use ashlar_store::file::{DEFAULT, Workspaces};
use ashlar_value::Dialect;

use crate::printer::Printer;

/// What is done about a block that has the state kept elsewhere.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Refused,
    /// The state lies in the folder all the same.
    PassedOver,
}

/// What the folder's configuration says of it.
enum Said {
    Nothing,
    Local(LocalBackend),
    /// The state is kept elsewhere: where the block stands, in these texts.
    Elsewhere(Span, Box<Sources>),
}

/// Reads the block. In whose language the configuration is read is not known everywhere it is asked for, so both must find the same.
fn said(dir: &Path) -> anyhow::Result<Said> {
    let read = |dialect| -> anyhow::Result<Said> {
        let files = read_folder(dir, "", dialect)
            .with_context(|| format!("The backend block in {} could not be looked for", dir.display()))?;
        let mut sources = Sources::new();
        let (root, _) = read_root(&files, dialect, &mut sources);
        Ok(match (root.local_backend, root.cloud.or(root.backend)) {
            (_, Some(span)) if root.cloud.is_some() => Said::Elsewhere(span, Box::new(sources)),
            (Some(local), _) => Said::Local(local),
            (None, Some(span)) => Said::Elsewhere(span, Box::new(sources)),
            (None, None) => Said::Nothing,
        })
    };
    let found = read(Dialect::Terraform)?;
    let is_same = match (&found, read(Dialect::OpenTofu)?) {
        (Said::Nothing, Said::Nothing) | (Said::Elsewhere(..), Said::Elsewhere(..)) => true,
        (Said::Local(one), Said::Local(other)) => *one == other,
        (Said::Nothing | Said::Local(_) | Said::Elsewhere(..), _) => false,
    };
    if !is_same {
        bail!(
            "The backend block is another one in the .tofu files than in the others. Have one, in a .tf file."
        );
    }
    if matches!(&found, Said::Local(local) if !local.is_clear) {
        bail!("The arguments of the local backend tell where the state lies, so they must be plain texts.");
    }
    Ok(found)
}

/// Why nothing is done, and how to go on; `path`: where the state would lie here.
fn refusal(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&here).unwrap_or(path);
    let path = path.strip_prefix(".").unwrap_or(path).display();
    format!(
        "This block has the state kept there, and Ashlar's command line keeps it in a file. With an empty state all objects that are \
         in that one would be made a second time, so nothing is done.\n\nBring the state over with `terraform state pull > {path}`, \
         change nothing with Terraform from then on, and give every command --ignore-backend (or set ASHLAR_IGNORE_BACKEND=1). \
         Where nothing is in a state there yet, give that option at once."
    )
}

/// Diagnostics without the warning that a backend block has no effect, where it is one that is obeyed here, or where the person
/// said to pass it over.
pub(crate) fn without_settled(diags: Diags, dir: &Path, elsewhere: Elsewhere) -> Diags {
    const UNUSED: [&str; 2] = ["Unused backend block", "Unused cloud block"];
    let is_about = |diag: &Diag| UNUSED.contains(&&*diag.summary);
    let is_settled = || elsewhere == Elsewhere::PassedOver || matches!(said(dir), Ok(Said::Local(_)));
    if !diags.iter().any(is_about) || !is_settled() {
        return diags;
    }
    diags.into_iter().filter(|diag| !is_about(diag)).collect()
}

fn laid(dir: &Path, backend: Option<&LocalBackend>) -> Workspaces {
    let own = Workspaces::of(dir);
    let Some(LocalBackend {
        path, workspace_dir, ..
    }) = backend
    else {
        return own;
    };
    let path = path.as_deref().map(Path::new);
    own.within(path, workspace_dir.as_deref().map(Path::new))
}

/// The workspaces of a folder: where the root module's `backend "local"` block says, if it has one. A block that came, went or
/// changed while there are states where it said before is refused, as Terraform does until `init` is told what to do.
/// `name` tells the workspace that commands work in.
pub(crate) fn workspaces(
    dir: &Path,
    elsewhere: Elsewhere,
    name: impl FnOnce(&Workspaces) -> Option<String>,
    printer: &Printer,
) -> anyhow::Result<Workspaces> {
    let backend = match said(dir)? {
        Said::Local(local) => Some(local),
        Said::Elsewhere(span, sources) if elsewhere == Elsewhere::Refused => {
            let own = Workspaces::of(dir);
            let name = name(&own).unwrap_or_else(|| DEFAULT.to_owned());
            let diag = Diag::error("State is kept elsewhere", refusal(&own.state(&name).path())).at(span);
            return Err(printer.told(&diag.into(), &sources));
        }
        Said::Nothing | Said::Elsewhere(..) => None,
    };
    let there = laid(dir, backend.as_ref());
    let note = dir.join(USED);
    let used = match std::fs::read_to_string(&note) {
        Ok(text) => serde_json::from_str::<Option<Used>>(&text)
            .with_context(|| format!("{} cannot be read", note.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", note.display())),
    };
    let before = laid(dir, used.map(LocalBackend::from).as_ref());
    let all = before
        .all()
        .map_err(|diags| printer.told(&diags, &Sources::new()))?;
    for name in all {
        let (old, new) = (before.state(&name).path(), there.state(&name).path());
        if old != new && old.exists() && !new.exists() {
            bail!(
                "The backend block says that the state of workspace {name:?} lies in {}, where there is none, and there is one in \
                 {}. Move it there, or all objects would be planned anew; or have the block as it was.",
                new.display(),
                old.display()
            );
        }
    }
    let now = backend.map(Used::from);
    if now.is_some() || note.exists() {
        let text = serde_json::to_string(&now)?;
        if std::fs::read_to_string(&note).ok().as_ref() != Some(&text) {
            let folder = note.parent().unwrap_or(dir);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&note, text))
                .with_context(|| format!("{} cannot be written", note.display()))?;
        }
    }
    Ok(there)
}

/// Where states lay when they were used last, in the folder.
const USED: &str = ".ashlar/backend.json";

/// What a backend block said.
#[derive(serde::Serialize, serde::Deserialize)]
struct Used {
    path: Option<String>,
    workspace_dir: Option<String>,
}

impl From<LocalBackend> for Used {
    fn from(backend: LocalBackend) -> Self {
        Self {
            path: backend.path.map(|path| path.to_string()),
            workspace_dir: backend.workspace_dir.map(|folder| folder.to_string()),
        }
    }
}

impl From<Used> for LocalBackend {
    fn from(used: Used) -> Self {
        Self {
            path: used.path.map(Into::into),
            workspace_dir: used.workspace_dir.map(Into::into),
            is_clear: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn state_of(dir: &Path, name: &str) -> Result<String, String> {
        let workspaces = workspaces(dir, Elsewhere::Refused, |_| None, &Printer::new(true));
        let workspaces = workspaces.map_err(|error| error.to_string())?;
        let path = workspaces.state(name).path().to_owned();
        Ok(path.strip_prefix(dir).unwrap().display().to_string())
    }

    #[test]
    fn a_state_is_not_left_behind_where_the_backend_block_changes() {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path();
        let block = |arguments: &str| {
            let text = format!("terraform {{\n  backend \"local\" {{\n{arguments}\n  }}\n}}\n");
            fs::write(dir.join("main.tf"), text).unwrap();
        };
        block("path = \"a.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "a.tfstate");
        // Nothing was made yet, so it may change.
        block("path = \"b.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "b.tfstate");
        fs::write(dir.join("b.tfstate"), "{}").unwrap();
        let other = dir.join("terraform.tfstate.d/prod");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("terraform.tfstate"), "{}").unwrap();
        for changed in [
            "path = \"c.tfstate\"",
            "path = \"b.tfstate\"\nworkspace_dir = \"w\"",
        ] {
            block(changed);
            let refused = state_of(dir, DEFAULT).unwrap_err();
            assert!(refused.contains("planned anew"), "{refused}");
        }
        fs::write(dir.join("main.tf"), "locals {}\n").unwrap();
        assert!(state_of(dir, DEFAULT).unwrap_err().contains("planned anew"));
        block("path = var.where");
        assert!(state_of(dir, DEFAULT).unwrap_err().contains("plain texts"));
        block("path = \"b.tfstate\"");
        assert_eq!(state_of(dir, DEFAULT).unwrap(), "b.tfstate");
        // What cannot be read is not taken for no block.
        std::os::unix::fs::symlink("/nowhere", dir.join("z.tf")).unwrap();
        assert!(
            state_of(dir, DEFAULT)
                .unwrap_err()
                .contains("could not be looked for")
        );
    }
}
