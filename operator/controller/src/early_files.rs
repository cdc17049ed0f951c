//! Files as functions read them before a run's folder is laid out: those that tell where called modules are.
//!
//! A run sees one folder, in which each package has its place; here they lie where they were fetched to, or in memory. What
//! a path means is the same, and nothing outside of them is ever read.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_config::source::clean;
use ashlar_funcs::{Caps, CapsError, FileKind};
use ashlar_runner::Files;

use crate::{
    fetchable::is_outside,
    package::{Package, Place, prefix, within},
};

/// The files of a source and of its modules' packages.
pub(crate) struct EarlyFiles {
    /// The root module's folder, where relative paths begin.
    root: String,
    /// What is held in memory.
    held: Option<Arc<Package>>,
    /// What lies in folders.
    places: Vec<Place>,
}

/// Where a path leads.
enum Spot<'f> {
    Held(&'f Package, String),
    Placed(Box<Files>, String),
}

impl EarlyFiles {
    pub(crate) fn new(root: &str, held: Option<Arc<Package>>, places: Vec<Place>) -> Self {
        Self {
            root: root.to_owned(),
            held,
            places,
        }
    }

    /// All files of a package that is held.
    pub(crate) fn of(package: &Package) -> Self {
        Self::new(&package.root, Some(Arc::new(package.clone())), Vec::new())
    }

    fn spot(&self, path: &str) -> Result<Spot<'_>, CapsError> {
        let full = clean(&format!("{}/{path}", self.root));
        if path.starts_with('/') || is_outside(&full) {
            return Err(CapsError::Refused(format!(
                "{path:?} leads out of the workspace's source, and in a cluster nothing outside of it can be read. Give a path \
                 relative to the module's folder that stays in the source"
            )));
        }
        let around = self
            .places
            .iter()
            .filter_map(|place| Some((place, within(&full, &place.folder)?)));
        match (around.max_by_key(|(place, _)| place.folder.len()), &self.held) {
            (Some((place, inner)), _) => {
                let files = Files {
                    folder: place.content.clone(),
                    confines: Some(place.content.clone()),
                    held: Vec::new(),
                    home: None,
                    plan_timestamp: String::new(),
                    applying: false,
                    made: Arc::default(),
                    functions: None,
                };
                Ok(Spot::Placed(Box::new(files), inner.to_owned()))
            }
            (None, Some(package)) => Ok(Spot::Held(package, full)),
            (None, None) => Err(CapsError::Absent),
        }
    }
}

/// What stands in a folder of a held package.
fn inside(package: &Package, folder: &str) -> BTreeMap<String, FileKind> {
    let around = prefix(folder);
    let inner = package.files.keys().filter_map(|path| path.strip_prefix(&around));
    let entries = inner.map(|inner| match inner.split_once('/') {
        Some((folder, _)) => (folder.to_owned(), FileKind::Directory),
        None => (inner.to_owned(), FileKind::Regular),
    });
    entries.collect()
}

impl Caps for EarlyFiles {
    fn read_file(&self, path: &str) -> Result<Vec<u8>, CapsError> {
        match self.spot(path)? {
            Spot::Placed(files, inner) => files.read_file(&inner),
            Spot::Held(package, full) => {
                let found = package.files.get(&full).ok_or(CapsError::Absent)?;
                Ok(found.to_vec())
            }
        }
    }

    fn file_kind(&self, path: &str) -> Result<FileKind, CapsError> {
        match self.spot(path)? {
            Spot::Placed(files, inner) => files.file_kind(&inner),
            Spot::Held(package, full) => {
                if package.files.contains_key(&full) {
                    Ok(FileKind::Regular)
                } else if full == "." || !inside(package, &full).is_empty() {
                    Ok(FileKind::Directory)
                } else {
                    Err(CapsError::Absent)
                }
            }
        }
    }

    fn list_dir(&self, path: &str) -> Result<Vec<(String, FileKind)>, CapsError> {
        match self.spot(path)? {
            Spot::Placed(files, inner) => files.list_dir(&inner),
            Spot::Held(package, full) => {
                let found = inside(package, &full);
                if found.is_empty() && full != "." {
                    return Err(CapsError::Absent);
                }
                Ok(found.into_iter().collect())
            }
        }
    }

    fn cwd(&self) -> Result<String, CapsError> {
        // A run's folder is made when it begins, and is called otherwise each time.
        Err(CapsError::Failed(
            "the folder of the run is not known while modules are fetched".to_owned(),
        ))
    }

    fn home(&self) -> Result<String, CapsError> {
        Err(CapsError::Failed("there is no home folder here".to_owned()))
    }

    fn timestamp(&self) -> Option<String> {
        None
    }

    fn plan_timestamp(&self) -> Option<String> {
        None
    }

    fn random(&self) -> Option<[u8; 16]> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(found: Result<Vec<u8>, CapsError>) -> Result<String, CapsError> {
        found.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn held_and_fetched_files_are_read_at_their_places_and_nothing_else() {
        let fetched = tempfile::tempdir().unwrap();
        std::fs::write(fetched.path().join("env"), "fetched").unwrap();
        std::os::unix::fs::symlink("/etc", fetched.path().join("way-out")).unwrap();
        let mut package = Package::of_texts(
            [("a/env", "held"), ("a/b/x", "x"), ("top", "t")]
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .into(),
        );
        package.root = "a".to_owned();
        let place = Place {
            folder: "a/.terraform/modules/m".to_owned(),
            content: fetched.path().to_owned(),
        };
        let files = EarlyFiles::new("a", Some(Arc::new(package)), vec![place]);
        assert_eq!(text(files.read_file("env")), Ok("held".to_owned()));
        assert_eq!(text(files.read_file("./b/../../top")), Ok("t".to_owned()));
        assert_eq!(
            text(files.read_file(".terraform/modules/m/env")),
            Ok("fetched".to_owned())
        );
        assert_eq!(files.read_file("lost"), Err(CapsError::Absent));
        for outside in [
            "/etc/passwd",
            "../../etc/passwd",
            ".terraform/modules/m/way-out/passwd",
        ] {
            let refused = matches!(files.read_file(outside), Err(CapsError::Refused(_)));
            assert!(refused, "{outside}");
        }
        assert_eq!(files.file_kind("b"), Ok(FileKind::Directory));
        assert_eq!(files.file_kind("b/x"), Ok(FileKind::Regular));
        let listed = files.list_dir(".").unwrap();
        assert_eq!(
            listed,
            [
                ("b".to_owned(), FileKind::Directory),
                ("env".to_owned(), FileKind::Regular)
            ]
        );
    }
}
