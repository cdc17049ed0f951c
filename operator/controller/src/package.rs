//! The files that a run has: just those that its functions and providers can read, each of which counts.
//!
//! A run has nothing else, so whatever a plan read stands in the digest of its files, and a change of any other file is
//! none to it. What counts of a source that was fetched:
//!
//! - all below the root module's folder and below that of each local module, since functions and providers read there;
//! - all of the source once a module's text names a path with `..` outside of module sources.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ashlar_config::{Files, Tree, is_config, source::clean};
use ashlar_diag::{Sources, Span, decode};
use ashlar_eval::{Subject, references};
use ashlar_runner::Laid;
use ashlar_value::Dialect;

/// Most bytes of one run's files: they are kept with each plan.
const LARGEST: u64 = 32 << 20;

/// How many times as much they take where packages that are called several times are laid out.
const COPIES: u64 = 4;

/// Files by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Package {
    /// The root module's folder; `.` for the package's own.
    pub(crate) root: String,
    pub(crate) files: BTreeMap<String, Arc<[u8]>>,
    /// The folders of the source that the files are of, of which nothing is left out; empty if that holds for the whole.
    pub(crate) held: BTreeSet<String>,
    /// Where each called module was found, as the root module sees it, once that is known; else they are where their sources
    /// say.
    pub(crate) modules: Option<Laid>,
}

/// Is there the word `module`, as a block's or a member's name?
fn may_call_modules(text: &[u8]) -> bool {
    const WORD: &[u8] = b"module";
    let in_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    text.windows(WORD.len()).enumerate().any(|(at, part)| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        let after = text.get(at + WORD.len());
        part == WORD
            && !before.is_some_and(in_word)
            && after.is_some_and(|after| after.is_ascii_whitespace() || *after == b'"')
    })
}

impl Package {
    /// Files that an object holds, the root module's at the top.
    pub(crate) fn of_texts(texts: BTreeMap<String, String>) -> Self {
        Self {
            root: ".".to_owned(),
            files: texts
                .into_iter()
                .map(|(name, text)| (name, text.into_bytes().into()))
                .collect(),
            held: BTreeSet::new(),
            modules: None,
        }
    }

    /// The same for a run.
    pub(crate) fn held(&self) -> Vec<PathBuf> {
        self.held.iter().map(PathBuf::from).collect()
    }

    /// The files of the root module, by names without its folder.
    pub(crate) fn module_files(&self, dialect: Dialect) -> Files {
        self.folder_files(&self.root, ".", dialect)
    }

    /// The configuration files of all modules, with the folders of called ones in front.
    pub(crate) fn config_files(&self, dialect: Dialect) -> Files {
        let Some(modules) = &self.modules else {
            let own = self.files.iter().filter(|(path, _)| is_config(path, dialect));
            return own.map(|(path, bytes)| named(path, bytes)).collect();
        };
        let folders: BTreeSet<&Arc<str>> = modules.folders.values().collect();
        let called = folders.into_iter().flat_map(|shown| {
            let folder = clean(&format!("{}/{shown}", self.root));
            self.folder_files(&folder, shown, dialect)
        });
        self.module_files(dialect).into_iter().chain(called).collect()
    }

    /// The configuration files in a folder, which is `shown` in front of their names.
    pub(crate) fn folder_files(&self, folder: &str, shown: &str, dialect: Dialect) -> Files {
        let (inner, outer) = (prefix(folder), prefix(shown));
        let own = self.files.iter().filter_map(|(path, bytes)| {
            let name = path.strip_prefix(&inner)?;
            let is_own = !name.contains('/') && is_config(name, dialect);
            is_own.then(|| named(&format!("{outer}{name}"), bytes))
        });
        own.collect()
    }

    /// The files of values beside the root module that are read without being named, in their order.
    pub(crate) fn value_files(&self) -> Files {
        let folder = prefix(&self.root);
        let own = self.files.iter().filter_map(|(path, bytes)| {
            let name = path.strip_prefix(&folder).filter(|name| !name.contains('/'))?;
            Some((value_file(name)?, named(name, bytes)))
        });
        let mut found: Vec<_> = own.collect();
        found.sort();
        found.into_iter().map(|(_, file)| file).collect()
    }

    /// Can there be a call of a module in it? Whoever has none needs nothing fetched.
    pub(crate) fn may_call_modules(&self) -> bool {
        let mut own = self
            .files
            .iter()
            .filter(|(path, _)| is_config(path, Dialect::OpenTofu));
        own.any(|(_, bytes)| may_call_modules(bytes))
    }

    /// What tells it from any other, as pairs.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let files = self.files.iter().map(|(path, bytes)| (path.as_bytes(), &**bytes));
        std::iter::once((&b"root"[..], self.root.as_bytes())).chain(files)
    }
}

/// The place of a file of values in the order in which they are read, if it is one that is read without being named.
fn value_file(name: &str) -> Option<u8> {
    match name {
        "terraform.tfvars" => Some(0),
        "terraform.tfvars.json" => Some(1),
        _ if name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json") => Some(2),
        _ => None,
    }
}

/// The files of values in the folder of a root module, as [`Package::value_files`] gives them. Links are passed over: no run
/// is given what they lead to.
pub(crate) fn read_value_files(folder: &Path) -> std::io::Result<Files> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some((name, place)) = name.to_str().and_then(|name| Some((name, value_file(name)?))) else {
            continue;
        };
        if !entry.file_type()?.is_file() {
            continue;
        }
        if entry.metadata()?.len() > LARGEST {
            let why = format!("{name} is larger than {} MiB", LARGEST >> 20);
            return Err(std::io::Error::other(why));
        }
        found.push((place, named(name, &fs::read(entry.path())?)));
    }
    found.sort();
    Ok(found.into_iter().map(|(_, file)| file).collect())
}

fn named(path: &str, bytes: &[u8]) -> (Arc<str>, Arc<str>) {
    (path.into(), decode(path, bytes.to_vec()).into())
}

/// What stands in front of the names of a folder's files.
pub(crate) fn prefix(folder: &str) -> String {
    if folder == "." {
        String::new()
    } else {
        format!("{folder}/")
    }
}

/// Does it hang on values which modules are called? Then they are fetched with just these values.
pub(crate) fn hangs_on_values(tree: &Tree) -> bool {
    let calls = tree
        .members
        .values()
        .flat_map(|member| member.module.calls.values());
    let mut told = calls.flat_map(|call| call.source.iter().chain(&call.version));
    told.any(|expr| {
        let named = references(expr).0.into_iter();
        named
            .into_iter()
            .any(|reference| matches!(reference.subject, Subject::Var(_) | Subject::Local(_)))
    })
}

/// The folders whose files count. `root`: the root module's folder in what was fetched; `sources`: the texts of all files of
/// the tree; `sound`: could it be loaded in whole? Else nobody knows what it would read.
pub(crate) fn folders_that_count(
    tree: &Tree,
    root: &str,
    sources: &Sources,
    sound: bool,
) -> BTreeSet<String> {
    let calls = tree
        .members
        .values()
        .flat_map(|member| member.module.calls.values());
    let known: Vec<Span> = calls
        .filter_map(|call| call.source.as_ref())
        .map(|source| source.span)
        .filter(|span| {
            sources
                .text(*span)
                .is_some_and(|text| text.starts_with("\"./") || text.starts_with("\"../"))
        })
        .collect();
    let climbs = sources.iter().any(|(id, source)| {
        let ends = |at: usize| {
            known
                .iter()
                .any(|span| span.file == id && (span.start as usize..span.end as usize).contains(&at))
        };
        climbs(&source.text, ends)
    });
    if !sound || climbs {
        return [".".to_owned()].into();
    }
    let folders = tree.members.values();
    let folders = folders.map(|member| clean(&format!("{root}/{}", member.folder)));
    folders.chain([clean(root)]).collect()
}

/// Does a text hold two dots that may be part of a path, elsewhere than where they are known? Three are an ellipsis.
fn climbs(text: &str, is_known: impl Fn(usize) -> bool) -> bool {
    let bytes = text.as_bytes();
    let is_dot = |at: usize| bytes.get(at) == Some(&b'.');
    (0..bytes.len()).any(|at| {
        let two = is_dot(at) && is_dot(at + 1) && !is_dot(at + 2);
        two && !at.checked_sub(1).is_some_and(is_dot) && !is_known(at)
    })
}

/// Where the files of a source, or of a called module's package, lie.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Their folder as a run sees it.
    pub(crate) folder: String,
    pub(crate) content: PathBuf,
}

/// Reads all files below these folders; the error says what is wrong with them.
pub(crate) fn read(
    places: &[Place],
    folders: &BTreeSet<String>,
) -> Result<BTreeMap<String, Arc<[u8]>>, String> {
    let mut reading = Reading {
        places,
        files: BTreeMap::new(),
        contents: HashSet::new(),
        bytes: 0,
        laid_out: 0,
    };
    for folder in folders {
        let around = places
            .iter()
            .filter_map(|place| Some((place, within(folder, &place.folder)?)));
        let (place, inner) = around
            .max_by_key(|(place, _)| place.folder.len())
            .ok_or_else(|| format!("The folder {folder} lies in no package."))?;
        reading.folder(&place.content.join(inner), folder)?;
        // Packages that lie below it.
        for place in places {
            if place.folder != *folder && within(&place.folder, folder).is_some() {
                reading.folder(&place.content, &place.folder)?;
            }
        }
    }
    Ok(reading.files)
}

/// The path of `folder` in `outer`, if it lies there.
pub(crate) fn within<'a>(folder: &'a str, outer: &str) -> Option<&'a str> {
    match folder.strip_prefix(&*prefix(outer)) {
        Some(inner) => Some(inner),
        None => (folder == outer).then_some("."),
    }
}

fn too_large() -> String {
    format!(
        "The files that a plan can read take more than {} MiB together, or more than {} MiB with all copies of packages that are \
         called several times; they are kept with each plan. Put the root module into a folder of its own, without what it does \
         not need, and name that in spec.source.path.",
        LARGEST >> 20,
        (LARGEST * COPIES) >> 20
    )
}

struct Reading<'a> {
    places: &'a [Place],
    files: BTreeMap<String, Arc<[u8]>>,
    /// One of each: a package that is called several times lies in several places.
    contents: HashSet<Arc<[u8]>>,
    /// How much they take together, and how much all files do.
    bytes: u64,
    laid_out: u64,
}

impl Reading<'_> {
    fn folder(&mut self, content: &Path, folder: &str) -> Result<(), String> {
        let unreadable =
            |error: std::io::Error| format!("The folder {folder} of the source cannot be read: {error}.");
        for entry in fs::read_dir(content).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().into_string().map_err(|name| {
                format!(
                    "A file in {folder} of the source has a name that is no text: {}.",
                    name.display()
                )
            })?;
            let path = format!("{}{name}", prefix(folder));
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                // What a source has where a package is installed is not that package.
                if !self.places.iter().any(|place| place.folder == path) {
                    self.folder(&entry.path(), &path)?;
                }
            } else if kind.is_file() && !self.files.contains_key(&path) {
                // Before it is read: it may be larger than what there is room for.
                let length = entry.metadata().map_err(unreadable)?.len();
                self.laid_out += length;
                if length > LARGEST || self.laid_out > LARGEST * COPIES {
                    return Err(too_large());
                }
                let bytes: Arc<[u8]> = fs::read(entry.path()).map_err(unreadable)?.into();
                let known = self.contents.get(&bytes).cloned();
                let bytes = match known {
                    Some(known) => known,
                    None => {
                        self.bytes += length;
                        self.contents.insert(bytes.clone());
                        bytes
                    }
                };
                if self.bytes > LARGEST {
                    return Err(too_large());
                }
                self.files.insert(path, bytes);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
