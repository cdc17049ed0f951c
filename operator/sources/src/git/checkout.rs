//! From the objects of a repository to the files of one commit.
//!
//! Contents are as they were committed: neither filters, nor line ends, nor LFS pointers are replaced.

use std::{collections::BTreeMap, time::Instant};

use gix_hash::{ObjectId, oid};
use gix_object::{CommitRefIter, Kind, TagRefIter, TreeRefIter, tree::EntryKind};
use gix_pack::Bundle;

use crate::{
    fault::Fault,
    limits::Limits,
    tree::{Tree, shown, too_large, too_slow},
};

/// Tags that lead to each other in a row, and folders inside each other, before it is hostile.
const MOST_TAGS: usize = 10;

/// Another repository, that a folder stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Submodule {
    pub(crate) path: String,
    pub(crate) url: String,
    pub(crate) commit: ObjectId,
}

/// The objects of a repository.
pub(crate) struct Objects {
    bundles: Vec<Bundle>,
    inflate: gix_zlib::Inflate,
    limits: Limits,
    deadline: Instant,
    /// Bytes that objects may still come to, all together.
    left: u64,
}

impl Objects {
    pub(crate) fn new(bundles: Vec<Bundle>, limits: &Limits, deadline: Instant) -> Self {
        Self {
            bundles,
            inflate: gix_zlib::Inflate::default(),
            limits: limits.clone(),
            deadline,
            left: limits.unpacked_bytes,
        }
    }

    fn find(&mut self, id: &oid) -> Result<(Kind, Vec<u8>), Fault> {
        let damaged =
            |why: String| Fault::refused(format!("The git server sent object {id} damaged: {why}."));
        if Instant::now() > self.deadline {
            return Err(too_slow(&self.limits));
        }
        for bundle in &self.bundles {
            let mut data = Vec::new();
            let found = bundle
                .find(id, &mut data, &mut self.inflate, &mut gix_pack::cache::Never)
                .map_err(|error| damaged(error.to_string()))?;
            if let Some(kind) = found.map(|(data, _)| data.kind) {
                // The same tree may lie in many places.
                let left = self.left.checked_sub(data.len() as u64);
                self.left = left.ok_or_else(|| too_large(&self.limits))?;
                return Ok((kind, data));
            }
        }
        Err(Fault::absent(format!("The git server did not send object {id}.")))
    }

    /// The commit that an object is, or that a tag leads to.
    pub(crate) fn commit(&mut self, id: ObjectId) -> Result<(ObjectId, Vec<u8>), Fault> {
        let mut at = id;
        for _ in 0..MOST_TAGS {
            let (kind, data) = self.find(&at)?;
            match kind {
                Kind::Commit => return Ok((at, data)),
                Kind::Tag => {
                    at = TagRefIter::from_bytes(&data, gix_hash::Kind::Sha1)
                        .target_id()
                        .map_err(|_| Fault::refused(format!("The git server sent object {at} damaged.")))?;
                }
                kind => return Err(Fault::asked(format!("{id} is no commit but a {kind}."))),
            }
        }
        Err(Fault::refused(format!("{id} is a tag of too many tags.")))
    }

    /// The commit whose name begins so.
    pub(crate) fn by_prefix(&mut self, short: &str) -> Result<ObjectId, Fault> {
        let mut found = Vec::new();
        let all: Vec<ObjectId> = self
            .bundles
            .iter()
            .flat_map(|bundle| bundle.index.iter().map(|entry| entry.oid))
            .filter(|id| id.to_string().starts_with(short))
            .collect();
        for id in all {
            if matches!(self.find(&id)?.0, Kind::Commit) {
                found.push(id);
            }
        }
        match &*found {
            [id] => Ok(*id),
            [] => Err(Fault::absent(format!(
                "There is no tag, branch or commit {}.",
                shown(short)
            ))),
            _ => Err(Fault::asked(format!(
                "Several commits begin with {}.",
                shown(short)
            ))),
        }
    }

    /// Puts the files of a commit into a tree, below a folder; gives the submodules that are to go there too.
    pub(crate) fn check_out(
        &mut self,
        commit: &[u8],
        prefix: &str,
        tree: &mut Tree,
    ) -> Result<Vec<Submodule>, Fault> {
        let root = CommitRefIter::from_bytes(commit, gix_hash::Kind::Sha1)
            .tree_id()
            .map_err(|_| Fault::refused("The git server sent a damaged commit."))?;
        let mut links = Vec::new();
        let mut modules = None;
        let mut folders = vec![(prefix.to_owned(), root)];
        while let Some((folder, id)) = folders.pop() {
            let damaged = || Fault::refused(format!("The git server sent tree {id} damaged."));
            let (kind, data) = self.find(&id)?;
            if kind != Kind::Tree {
                return Err(damaged());
            }
            if !folder.is_empty() {
                tree.folder(&folder)?;
            }
            for entry in TreeRefIter::from_bytes(&data, gix_hash::Kind::Sha1) {
                let entry = entry.map_err(|_| damaged())?;
                let name = std::str::from_utf8(entry.filename).map_err(|_| {
                    let name = shown(&String::from_utf8_lossy(entry.filename));
                    Fault::refused(format!(
                        "The repository holds a file whose name is not UTF-8: {name}."
                    ))
                })?;
                // As git: nothing of its own can come out of a repository.
                let own = name.trim_end_matches(['.', ' ']).eq_ignore_ascii_case(".git");
                if own || name.contains('/') || matches!(name, "" | "." | "..") {
                    let name = shown(name);
                    return Err(Fault::refused(format!(
                        "The repository holds a file with the name {name}."
                    )));
                }
                let path = if folder.is_empty() {
                    name.to_owned()
                } else {
                    format!("{folder}/{name}")
                };
                match entry.mode.kind() {
                    EntryKind::Tree => folders.push((path, entry.oid.to_owned())),
                    EntryKind::Blob | EntryKind::BlobExecutable => {
                        let (_, content) = self.find(entry.oid)?;
                        let program = entry.mode.kind() == EntryKind::BlobExecutable;
                        tree.file(&path, program, &mut &content[..])?;
                        if name == ".gitmodules" && folder == prefix {
                            modules = String::from_utf8(content).ok();
                        }
                    }
                    EntryKind::Link => {
                        let (_, target) = self.find(entry.oid)?;
                        tree.link(&path, &String::from_utf8_lossy(&target))?;
                    }
                    EntryKind::Commit => {
                        tree.count()?;
                        links.push((path, entry.oid.to_owned()));
                    }
                }
            }
        }
        let urls = submodule_urls(modules.as_deref().unwrap_or_default());
        let submodule = |(path, commit): (String, ObjectId)| {
            let inside = path.strip_prefix(prefix).unwrap_or(&path).trim_start_matches('/');
            // One that .gitmodules does not tell of is left alone by git, too.
            Some(Submodule {
                url: urls.get(inside)?.clone(),
                path,
                commit,
            })
        };
        Ok(links.into_iter().filter_map(submodule).collect())
    }
}

/// Paths and addresses in a `.gitmodules` file.
fn submodule_urls(text: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let (mut path, mut url) = (None, None);
    for line in text.lines().map(str::trim).chain(["["]) {
        if line.starts_with('[') {
            if let (Some(path), Some(url)) = (path.take(), url.take()) {
                found.entry(path).or_insert(url);
            }
        } else if let Some((key, value)) = line.split_once('=') {
            let value = value.trim().trim_matches('"').to_owned();
            match key.trim() {
                "path" => path = Some(value),
                "url" => url = Some(value),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn submodules_are_read() {
        let text = "[submodule \"a\"]\n\tpath = lib/a\n\turl = ../a.git\n[submodule \"b\"]\nurl=https://h.test/b\n  path = \"b\"\n[x]\npath = c\n";
        let want =
            [("lib/a", "../a.git"), ("b", "https://h.test/b")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(submodule_urls(text), want.into());
    }
}
