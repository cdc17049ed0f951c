//! The workspaces of a folder: each has a state of its own, one is selected.
//!
//! The one called `default` has its state in the folder itself; the others each have a folder in `terraform.tfstate.d`,
//! which to a store is a folder like any other. Source: Terraform `internal/backend/local/backend.go`.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ashlar_diag::{Diag, Diags};

use super::{StateFile, disk::DiskError};

/// The workspace that is always there.
pub const DEFAULT: &str = "default";
const FOLDERS: &str = "terraform.tfstate.d";
const SELECTED: &str = ".terraform/environment";
const SUMMARY: &str = "Error selecting workspace";

/// The workspaces of the root module in a folder.
#[derive(Clone, Debug)]
pub struct Workspaces {
    folder: PathBuf,
    /// Where the state of the one that is always there lies, if not in the folder.
    state: Option<PathBuf>,
    /// Where the others are.
    folders: PathBuf,
}

impl Workspaces {
    /// Those of a folder.
    pub fn of(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            state: None,
            folders: folder.join(FOLDERS),
        }
    }

    /// Those of a folder whose `backend "local"` block says where states lie. Paths are taken from the folder.
    #[must_use]
    pub fn within(mut self, path: Option<&Path>, workspace_dir: Option<&Path>) -> Self {
        self.state = path.map(|path| self.folder.join(path));
        if let Some(folders) = workspace_dir {
            self.folders = self.folder.join(folders);
        }
        self
    }

    /// The state of a workspace, for [`FileStore::open`](super::FileStore::open).
    pub fn state(&self, name: &str) -> StateFile {
        match &self.state {
            Some(path) if name == DEFAULT => StateFile::at(path),
            _ => StateFile::from(&self.folder(name)),
        }
    }

    /// The one that is selected in the folder. No file says so for the one that is always there.
    pub fn selected(&self) -> Result<String, Diags> {
        let path = self.folder.join(SELECTED);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(DiskError::new("read", &path, error).diags(SUMMARY)),
        };
        match text.trim() {
            "" => Ok(DEFAULT.to_owned()),
            name if is_valid(name) => Ok(name.to_owned()),
            name => {
                let detail = format!(
                    "{} selects {name:?}, and no workspace can be called that. Select another with `workspace select`.",
                    path.display()
                );
                Err(Diag::error("Invalid workspace name", detail).into())
            }
        }
    }

    /// Selects one, whether or not there is anything of it yet.
    pub fn select(&self, name: &str) -> Result<(), Diags> {
        let path = self.folder.join(SELECTED);
        let folder = path.parent().unwrap_or(&self.folder);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, name));
        written.map_err(|error| DiskError::new("write", &path, error).diags(SUMMARY))
    }

    /// All there are: the one that is always there, then the others by name.
    pub fn all(&self) -> Result<Vec<String>, Diags> {
        let path = self.folders.clone();
        let fault = |error| DiskError::new("read", &path, error).diags("Failed to list workspaces");
        let mut names = Vec::new();
        match fs::read_dir(&path) {
            Ok(entries) => {
                for entry in entries {
                    let entry = entry.map_err(fault)?;
                    if entry.path().is_dir() {
                        names.push(entry.file_name().to_string_lossy().into_owned());
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fault(error)),
        }
        names.sort();
        names.insert(0, DEFAULT.to_owned());
        Ok(names)
    }

    /// The folder of a workspace.
    pub fn folder(&self, name: &str) -> PathBuf {
        if name == DEFAULT {
            self.folder.clone()
        } else {
            self.folders.join(name)
        }
    }

    /// Makes one without a state.
    pub fn make(&self, name: &str) -> Result<(), Diags> {
        let path = self.folder(name);
        fs::create_dir_all(&path)
            .map_err(|error| DiskError::new("make", &path, error).diags("Failed to make the workspace"))
    }

    /// Removes one and its state, which whoever calls has looked at.
    pub fn remove(&self, name: &str) -> Result<(), Diags> {
        let path = self.folder(name);
        if path == self.folder {
            return Err(Diag::error("Cannot delete the default workspace", "It is always there.").into());
        }
        fs::remove_dir_all(&path)
            .map_err(|error| DiskError::new("remove", &path, error).diags("Failed to delete the workspace"))
    }
}

/// Can a workspace be called that? It becomes the name of a folder, and with other tools a part of a URL.
pub fn is_valid(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~$&+=:@".contains(&byte);
    !name.is_empty() && name.bytes().all(plain) && name != "." && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_workspace_has_a_folder_and_one_is_selected() {
        let folder = tempfile::tempdir().unwrap();
        let workspaces = Workspaces::of(folder.path());
        assert_eq!(workspaces.selected().unwrap(), "default");
        assert_eq!(workspaces.all().unwrap(), ["default"]);
        assert_eq!(workspaces.folder("default"), folder.path());
        workspaces.make("b").unwrap();
        workspaces.make("a").unwrap();
        workspaces.select("b").unwrap();
        assert_eq!(workspaces.selected().unwrap(), "b");
        assert_eq!(workspaces.all().unwrap(), ["default", "a", "b"]);
        let text = fs::read_to_string(folder.path().join(".terraform/environment")).unwrap();
        assert_eq!(text, "b");
        workspaces.remove("a").unwrap();
        assert!(!folder.path().join("terraform.tfstate.d/a").exists());
        assert!(workspaces.remove("default").is_err());
        fs::write(folder.path().join(".terraform/environment"), "../x\n").unwrap();
        assert!(workspaces.selected().is_err());
    }

    #[test]
    fn a_name_is_one_that_no_url_changes() {
        for (name, want) in [
            ("blue", true),
            ("a-b_c.d~1", true),
            ("a@b:c+d=e&f$g", true),
            ("", false),
            ("a/b", false),
            ("a b", false),
            ("..", false),
            ("é", false),
            ("a%b", false),
        ] {
            assert_eq!(is_valid(name), want, "{name}");
        }
    }
}
