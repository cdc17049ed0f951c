//! A tree of files being made from a package, which may be hostile: nothing is written outside the folder, only plain files
//! and folders are made, and each limit holds for what really comes out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    io::{Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    time::Instant,
};

use sha2::{Digest, Sha256};

use crate::{
    fault::Fault,
    limits::{Limits, bytes},
};

/// Longest name of a file in bytes, as file systems have it, and longest path.
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 4096;
/// Most bytes of a path on the average: many long ones would take much memory.
const USUAL_PATH: usize = 512;

/// Most links that lead to each other in a row, as Linux has it.
const MOST_HOPS: usize = 40;

/// A tree of files being made.
pub(crate) struct Tree {
    folder: PathBuf,
    limits: Limits,
    deadline: Instant,
    /// Files by path, with the SHA-256 of their content and whether they are programs.
    files: BTreeMap<String, Entry>,
    folders: BTreeSet<String>,
    links: BTreeMap<String, String>,
    /// Names in lower case, for systems that do not tell cases apart, with the name as it was.
    folded: BTreeMap<String, String>,
    entries: usize,
    /// Bytes that names may still come to, all together.
    names_left: usize,
    written: u64,
}

#[derive(Clone, PartialEq, Eq)]
struct Entry {
    digest: String,
    program: bool,
}

impl Tree {
    /// An empty tree in an empty folder.
    pub(crate) fn new(folder: &Path, limits: &Limits, deadline: Instant) -> Self {
        Self {
            folder: folder.to_owned(),
            limits: limits.clone(),
            deadline,
            files: BTreeMap::new(),
            folders: BTreeSet::new(),
            links: BTreeMap::new(),
            folded: BTreeMap::new(),
            entries: 0,
            names_left: limits
                .files
                .saturating_mul(USUAL_PATH)
                .saturating_add(LONGEST_PATH),
            written: 0,
        }
    }

    /// Makes a folder, and those it is in.
    pub(crate) fn folder(&mut self, path: &str) -> Result<(), Fault> {
        let path = self.check(path)?;
        // One that is made is counted there.
        if path.is_empty() || self.folders.contains(&path) {
            return self.count();
        }
        self.make_folders(&path)
    }

    /// Makes a file.
    pub(crate) fn file(&mut self, path: &str, program: bool, content: &mut dyn Read) -> Result<(), Fault> {
        let path = self.check(path)?;
        if path.is_empty() {
            return Err(Fault::refused("The package holds a file without a name."));
        }
        self.count()?;
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.make_folders(folder)?;
        }
        self.fold(&path)?;
        if self.folders.contains(&path) || self.files.contains_key(&path) || self.links.contains_key(&path) {
            return Err(Fault::refused(format!(
                "The package holds {} twice.",
                shown(&path)
            )));
        }
        let target = self.folder.join(&path);
        let unwritable = |error: io::Error| Fault::local("The package could not be unpacked", &error);
        let mut output = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(if program { 0o755 } else { 0o644 })
            .open(&target)
            .map_err(unwritable)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        let mut size = 0u64;
        loop {
            let count = match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(broken(error)),
            };
            let chunk = buffer.get(..count).unwrap_or_default();
            size += count as u64;
            self.written += count as u64;
            if size > self.limits.file_bytes {
                let limit = bytes(self.limits.file_bytes);
                let path = shown(&path);
                return Err(Fault::refused(format!(
                    "The package holds a file of more than {limit}, which is the limit for one file: {path}."
                )));
            }
            if self.written > self.limits.unpacked_bytes {
                return Err(too_large(&self.limits));
            }
            if Instant::now() > self.deadline {
                return Err(too_slow(&self.limits));
            }
            digest.update(chunk);
            output.write_all(chunk).map_err(unwritable)?;
        }
        let digest = hex::encode(digest.finalize());
        self.files.insert(path, Entry { digest, program });
        Ok(())
    }

    /// Notes a symbolic link; what it leads to takes its place in the end.
    pub(crate) fn link(&mut self, path: &str, target: &str) -> Result<(), Fault> {
        let path = self.check(path)?;
        self.count()?;
        if target.len() > LONGEST_PATH {
            return Err(Fault::refused(format!(
                "The package holds a link to a name longer than {LONGEST_PATH} bytes: {}.",
                shown(&path)
            )));
        }
        self.count_name(target)?;
        if let Some((folder, _)) = path.rsplit_once('/') {
            self.make_folders(folder)?;
        }
        self.fold(&path)?;
        if self.folders.contains(&path) || self.files.contains_key(&path) || self.links.contains_key(&path) {
            return Err(Fault::refused(format!(
                "The package holds {} twice.",
                shown(&path)
            )));
        }
        self.links.insert(path, target.to_owned());
        Ok(())
    }

    /// Takes in what lies in a folder of this machine, but entries with the names that are left out.
    pub(crate) fn copy_of(&mut self, folder: &Path, left_out: &[&str]) -> Result<(), Fault> {
        self.copy_folder(folder, "", left_out)
    }

    fn copy_folder(&mut self, folder: &Path, prefix: &str, left_out: &[&str]) -> Result<(), Fault> {
        let unreadable = |error: io::Error| Fault::local("A folder of this machine cannot be read", &error);
        for entry in fs::read_dir(folder).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if left_out.contains(&&*name) {
                continue;
            }
            let path = if prefix.is_empty() {
                name
            } else {
                format!("{prefix}/{name}")
            };
            let kind = entry.file_type().map_err(unreadable)?;
            if kind.is_dir() {
                self.folder(&path)?;
                self.copy_folder(&entry.path(), &path, left_out)?;
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).map_err(unreadable)?;
                self.link(&path, &target.to_string_lossy())?;
            } else if kind.is_file() {
                let mode = entry.metadata().map_err(unreadable)?.permissions().mode();
                let mut content = fs::File::open(entry.path()).map_err(unreadable)?;
                self.file(&path, mode & 0o100 != 0, &mut content)?;
            }
        }
        Ok(())
    }

    /// Puts what links lead to in their places, and tells the digest of the whole.
    pub(crate) fn finish(mut self) -> Result<String, Fault> {
        let mut left = std::mem::take(&mut self.links);
        // Links may lead to links, and to folders that links are to be placed in; those that lead nowhere are left out:
        // reading them would fail as well.
        let mut patient = true;
        for _ in 0..MOST_HOPS {
            let before = left.len();
            for (path, target) in left.clone() {
                if self.place(&path, &target, &left, patient)? {
                    left.remove(&path);
                    patient = true;
                }
            }
            if left.is_empty() || (left.len() == before && !patient) {
                break;
            }
            patient = left.len() < before;
        }
        let mut hash = Sha256::new();
        for (path, entry) in &self.files {
            hash.update(line(&entry.digest, entry.program, path));
        }
        Ok(format!("sha256:{}", hex::encode(hash.finalize())))
    }

    /// Puts what a link leads to in its place; false if that is not there (yet). `patient`: not from a folder that others
    /// of those `left` are to be placed in.
    fn place(
        &mut self,
        path: &str,
        target: &str,
        left: &BTreeMap<String, String>,
        patient: bool,
    ) -> Result<bool, Fault> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let leads_out = || {
            Fault::refused(format!(
                "The package holds a link that leads out of it: {} to {}.",
                shown(path),
                shown(target)
            ))
        };
        if target.starts_with('/') {
            return Err(leads_out());
        }
        let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
        for part in target.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop().ok_or_else(leads_out)?;
                }
                part => parts.push(part),
            }
        }
        let target = parts.join("/");
        if let Some(entry) = self.files.get(&target).cloned() {
            self.copy(&target, path, entry)?;
            return Ok(true);
        }
        let inside = format!("{target}/");
        let found = target.is_empty() || self.folders.contains(&target);
        let waits = left
            .range(inside.clone()..)
            .next()
            .is_some_and(|(name, _)| name.starts_with(&inside));
        if found && waits && patient {
            return Ok(false);
        }
        if found {
            if target.is_empty() || path.starts_with(&inside) {
                return Err(Fault::refused(format!(
                    "The package holds a link to a folder that it lies in, so there would be no end of files: {}.",
                    shown(path)
                )));
            }
            self.make_folders(path)?;
            let below: Vec<(String, Entry)> = self
                .files
                .range(inside.clone()..)
                .take_while(|(name, _)| name.starts_with(&inside))
                .map(|(name, entry)| (name.clone(), entry.clone()))
                .collect();
            for (name, entry) in below {
                let rest = name.strip_prefix(&inside).unwrap_or(&name);
                self.count()?;
                self.copy(&name, &format!("{path}/{rest}"), entry)?;
            }
        }
        Ok(found)
    }

    fn copy(&mut self, from: &str, to: &str, entry: Entry) -> Result<(), Fault> {
        let source = self.folder.join(from);
        let mut content = fs::File::open(source)
            .map_err(|error| Fault::local("The package could not be unpacked", &error))?;
        // Its name was taken by the link already.
        self.folded.remove(&to.to_lowercase());
        self.file(to, entry.program, &mut content)
    }

    /// The path in its shortest form; not if it leads elsewhere.
    fn check(&self, path: &str) -> Result<String, Fault> {
        let refuse = |why: &str| {
            let path = shown(path);
            Err(Fault::refused(format!(
                "The package holds a file whose name {why}: {path}."
            )))
        };
        if path.starts_with('/') {
            return refuse("is absolute");
        }
        if path.len() > LONGEST_PATH {
            return refuse("is longer than 4096 bytes");
        }
        if path.chars().any(|c| c == '\0' || c.is_control()) {
            return refuse("has a control character in it");
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => return refuse("leads out of it"),
                part if part.len() > LONGEST_NAME => return refuse("has a part of more than 255 bytes"),
                part => parts.push(part),
            }
        }
        if parts.len() > self.limits.path_depth {
            let limit = self.limits.path_depth;
            return Err(Fault::refused(format!(
                "The package holds folders inside each other deeper than the limit of {limit}: {}.",
                shown(path)
            )));
        }
        Ok(parts.join("/"))
    }

    /// Counts something that takes a place among the files.
    pub(crate) fn count(&mut self) -> Result<(), Fault> {
        self.entries += 1;
        if self.entries > self.limits.files {
            let limit = self.limits.files;
            return Err(Fault::refused(format!(
                "The package holds more than {limit} files, folders and links, which is the limit."
            )));
        }
        Ok(())
    }

    fn count_name(&mut self, name: &str) -> Result<(), Fault> {
        let left = self.names_left.checked_sub(name.len());
        self.names_left = left.ok_or_else(|| {
            let limit = self.limits.files;
            Fault::refused(format!(
                "The package holds names that are too long all together: more than {USUAL_PATH} bytes on the average for {limit} \
                 files, folders and links, which is the limit."
            ))
        })?;
        Ok(())
    }

    fn make_folders(&mut self, path: &str) -> Result<(), Fault> {
        let ends = path.char_indices().filter(|(_, c)| *c == '/').map(|(at, _)| at);
        for end in ends.chain([path.len()]) {
            let Some(folder) = path.get(..end).filter(|folder| !folder.is_empty()) else {
                continue;
            };
            if self.folders.contains(folder) {
                continue;
            }
            self.count()?;
            self.fold(folder)?;
            if self.files.contains_key(folder) || self.links.contains_key(folder) {
                let path = shown(folder);
                return Err(Fault::refused(format!(
                    "The package holds {path} both as a folder and as something else."
                )));
            }
            fs::create_dir(self.folder.join(folder))
                .map_err(|error| Fault::local("The package could not be unpacked", &error))?;
            self.folders.insert(folder.to_owned());
        }
        Ok(())
    }

    /// Refuses two names that differ in case only: on some systems they are one file.
    fn fold(&mut self, path: &str) -> Result<(), Fault> {
        self.count_name(path)?;
        match self.folded.insert(path.to_lowercase(), path.to_owned()) {
            Some(other) if other != path => Err(Fault::refused(format!(
                "The package holds two names that differ in case only: {} and {}.",
                shown(&other),
                shown(path)
            ))),
            _ => Ok(()),
        }
    }
}

/// What stands for a file in the digest of its tree.
fn line(digest: &str, program: bool, path: &str) -> String {
    format!("{digest} {} {path}\n", if program { 'x' } else { '-' })
}

/// The digest of the tree of files in a folder, as a pin has it. Nothing but plain files and folders can be part
/// of it.
pub fn digest(folder: &Path) -> io::Result<String> {
    let mut files = BTreeMap::new();
    gather(folder, "", &mut files)?;
    let mut hash = Sha256::new();
    for (path, entry) in &files {
        hash.update(line(&entry.digest, entry.program, path));
    }
    Ok(format!("sha256:{}", hex::encode(hash.finalize())))
}

fn gather(folder: &Path, prefix: &str, files: &mut BTreeMap<String, Entry>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|_| io::Error::other("a name that is not UTF-8"))?;
        let path = if prefix.is_empty() {
            name
        } else {
            format!("{prefix}/{name}")
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            gather(&entry.path(), &path, files)?;
        } else if kind.is_file() {
            let mut hash = Sha256::new();
            io::copy(&mut fs::File::open(entry.path())?, &mut hash)?;
            let digest = hex::encode(hash.finalize());
            let program = entry.metadata()?.permissions().mode() & 0o100 != 0;
            files.insert(path, Entry { digest, program });
        } else {
            return Err(io::Error::other("something else than a file or a folder"));
        }
    }
    Ok(())
}

pub(crate) fn too_large(limits: &Limits) -> Fault {
    let limit = bytes(limits.unpacked_bytes);
    Fault::refused(format!(
        "The package unpacks to more than {limit}, which is the limit for all its files together."
    ))
}

pub(crate) fn too_slow(limits: &Limits) -> Fault {
    let seconds = limits.time.as_secs_f64();
    Fault::unreachable(format!(
        "Fetching took longer than {seconds} seconds, which is the limit."
    ))
}

/// A fault that came through a reader stays what it was.
pub(crate) fn broken(error: io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()) {
        Some(fault) => fault.clone(),
        None => Fault::refused(format!("The package is damaged: {error}.")),
    }
}

/// A name from a package, fit to be shown.
pub(crate) fn shown(name: &str) -> String {
    let short: String = name.chars().take(200).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests;
