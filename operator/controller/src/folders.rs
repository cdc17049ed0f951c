//! Folders with the files of runs. One is named by its workspace and its content, so that providers that outlive a run, and may
//! read only what they were started with, serve the next one that has the same files.
//!
//! A folder lives as long as a run or a provider uses it. What lies there is what the package says whenever a run begins.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
};

use sha2::{Digest, Sha256};

use crate::package::Package;

/// How much of a digest stands in a name: no two contents of one workspace have it in common by chance.
const NAME_BYTES: usize = 16;

/// All folders of this process.
pub(crate) struct Folders {
    /// Holds them.
    base: PathBuf,
    live: Arc<Live>,
}

#[derive(Default)]
struct Live {
    folders: Mutex<BTreeMap<PathBuf, Weak<Folder>>>,
    next: AtomicU64,
}

impl Live {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Weak<Folder>>> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A name that nothing has, beside `path`.
    fn other(&self, path: &Path) -> PathBuf {
        path.with_extension(format!("{}", self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// The files of a run. Removed when nobody has it any more.
pub(crate) struct Folder {
    path: PathBuf,
    live: Arc<Live>,
}

impl Folder {
    /// All that the run may read.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The root module's folder in it.
    pub(crate) fn root(&self, package_root: &str) -> PathBuf {
        match package_root {
            "." => self.path.clone(),
            root => self.path.join(root),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let away = self.live.other(&self.path);
        {
            let mut live = self.live.lock();
            match live.get(&self.path) {
                // Another one took its place since.
                Some(other) if other.strong_count() > 0 => return,
                _ => live.remove(&self.path),
            };
            match fs::rename(&self.path, &away) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return,
                // What cannot be moved is removed where it is.
                Err(_) => tell(remove(&self.path), &self.path),
                Ok(()) => {}
            }
        }
        tell(remove(&away), &away);
    }
}

fn tell(removed: io::Result<()>, folder: &Path) {
    if let Err(error) = removed {
        tracing::warn!(%error, folder = %folder.display(), "the folder of a run could not be removed");
    }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

impl Folders {
    pub(crate) fn new(base: PathBuf) -> Self {
        Self {
            base,
            live: Arc::default(),
        }
    }

    /// The folder with the files of a package for a workspace, of which no other run is going on. Blocks.
    pub(crate) fn lay_out(&self, uid: &str, package: &Package) -> io::Result<Arc<Folder>> {
        let path = self.base.join(format!("{uid}-{}", name(package)));
        let there = self.live.lock().get(&path).and_then(Weak::upgrade);
        if let Some(folder) = there {
            // A provider without a fence could have changed it.
            settle(&path, &package.files)?;
            return Ok(folder);
        }
        let draft = self.live.other(&path);
        let made = settle(&draft, &package.files).and_then(|()| self.put(&draft, &path));
        if made.is_err() {
            let _ = remove(&draft);
        }
        made
    }

    fn put(&self, draft: &Path, path: &Path) -> io::Result<Arc<Folder>> {
        let mut live = self.live.lock();
        // Of one that nobody has any more, and that is about to go.
        let left = self.live.other(path);
        let was_there = fs::rename(path, &left).is_ok();
        fs::rename(draft, path)?;
        let folder = Arc::new(Folder {
            path: path.to_owned(),
            live: self.live.clone(),
        });
        live.insert(path.to_owned(), Arc::downgrade(&folder));
        drop(live);
        if was_there {
            tell(remove(&left), &left);
        }
        Ok(folder)
    }
}

fn name(package: &Package) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update(u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(bytes);
    };
    part(package.root.as_bytes());
    for (name, bytes) in &package.files {
        part(name.as_bytes());
        part(bytes);
    }
    let digest = hash.finalize();
    hex::encode(digest.get(..NAME_BYTES).unwrap_or_default())
}

/// Has just these files in a folder, which may be there already. No link in it is followed.
fn settle(folder: &Path, files: &BTreeMap<String, Arc<[u8]>>) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
    for name in files.keys() {
        wanted.extend(Path::new(name).ancestors().map(Path::to_owned));
    }
    clear(folder, Path::new(""), &wanted, files)?;
    for (name, bytes) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|there| *there == **bytes) {
            continue;
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(path, bytes)?;
    }
    Ok(())
}

/// Removes what is not wanted, and what is wanted but of another kind.
fn clear(
    folder: &Path,
    inner: &Path,
    wanted: &BTreeSet<PathBuf>,
    files: &BTreeMap<String, Arc<[u8]>>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder.join(inner))? {
        let entry = entry?;
        let (path, kind) = (inner.join(entry.file_name()), entry.file_type()?);
        let is_file = path
            .as_os_str()
            .to_str()
            .is_some_and(|name| files.contains_key(name));
        let is_right = wanted.contains(&path) && if is_file { kind.is_file() } else { kind.is_dir() };
        match (is_right, kind.is_dir()) {
            (true, true) => clear(folder, &path, wanted, files)?,
            (true, false) => {}
            (false, true) => remove(&folder.join(&path))?,
            (false, false) => fs::remove_file(folder.join(&path))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(files: &[(&str, &str)]) -> Package {
        Package {
            root: ".".to_owned(),
            files: files
                .iter()
                .map(|(name, text)| ((*name).to_owned(), Arc::from(text.as_bytes())))
                .collect(),
            ..Package::default()
        }
    }

    fn inside(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn the_same_files_are_the_same_folder_for_as_long_as_anybody_has_it() {
        let base = tempfile::tempdir().unwrap();
        let folders = Folders::new(base.path().to_owned());
        let one = package(&[("main.tf", "1"), ("m/a.tf", "2")]);
        let first = folders.lay_out("u", &one).unwrap();
        let again = folders.lay_out("u", &one).unwrap();
        assert_eq!(first.path(), again.path());
        assert_eq!(fs::read_to_string(first.path().join("m/a.tf")).unwrap(), "2");
        let (other, others) = (
            package(&[("main.tf", "2")]),
            package(&[("main.tf", "1"), ("m/a.tf", "2")]),
        );
        let other = folders.lay_out("u", &other).unwrap();
        let others = folders.lay_out("v", &others).unwrap();
        assert_ne!(other.path(), first.path());
        assert_ne!(others.path(), first.path());
        let path = first.path().to_owned();
        drop(first);
        assert!(path.exists());
        drop(again);
        assert!(!path.exists());
        drop((other, others));
        assert_eq!(inside(base.path()), [""; 0]);
        let anew = folders.lay_out("u", &one).unwrap();
        assert_eq!(anew.path(), path);
        let names = inside(base.path());
        assert!(
            names.iter().all(|name| !name.contains('.')),
            "no draft is left: {names:?}"
        );
    }

    #[test]
    fn what_was_changed_is_mended_when_a_run_begins() {
        let base = tempfile::tempdir().unwrap();
        let folders = Folders::new(base.path().to_owned());
        let package = package(&[("main.tf", "1"), ("m/a.tf", "2"), ("n/b.tf", "3")]);
        let folder = folders.lay_out("u", &package).unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("main.tf"), "changed").unwrap();
        fs::write(at("more.tf"), "more").unwrap();
        fs::create_dir_all(at("x/y")).unwrap();
        fs::remove_dir_all(at("m")).unwrap();
        std::os::unix::fs::symlink("/", at("m")).unwrap();
        fs::remove_file(at("n/b.tf")).unwrap();
        fs::create_dir(at("n/b.tf")).unwrap();
        drop(folders.lay_out("u", &package).unwrap());
        assert_eq!(inside(folder.path()), ["m", "main.tf", "n"]);
        for (name, text) in [("main.tf", "1"), ("m/a.tf", "2"), ("n/b.tf", "3")] {
            assert_eq!(fs::read_to_string(at(name)).unwrap(), text);
        }
        assert!(!Path::new("/a.tf").exists());
    }
}
