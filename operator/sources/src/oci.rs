//! Artifacts in OCI registries: what `flux push artifact`, OpenTofu's module packages and `oras push` leave there.

mod layers;
mod repository;

use std::fs::File;

use self::layers::{Use, choose};
pub(crate) use self::repository::Repository;
use crate::{
    archive,
    cache::Content,
    credentials::Credentials,
    fault::Fault,
    fetcher::{Fetcher, blocking, digest_of, unkept},
    tree::Tree,
};

/// What of which repository.
#[derive(Clone, PartialEq, Eq)]
pub struct OciPlace {
    /// The repository: `oci://HOST[:PORT]/NAME`.
    pub url: String,
    /// What of it.
    pub reference: OciReference,
}

/// An address may carry an account, which is not told.
impl std::fmt::Debug for OciPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OciPlace")
            .field("url", &crate::address::redacted(&self.url))
            .field("reference", &self.reference)
            .finish()
    }
}

/// What of a repository is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OciReference {
    /// A tag; `latest` where none is named.
    Tag(String),
    /// A manifest: `sha256:…`.
    Digest(String),
    /// The newest version, as tags tell them, in a range as Flux has them.
    Semver(String),
}

impl Fetcher {
    /// The files of an artifact; its revision is the digest of its manifest.
    pub async fn oci(&self, place: &OciPlace, credentials: &Credentials) -> Result<Content, Fault> {
        let mut repository = Repository::open(&self.web, &place.url, credentials, self.deadline())?;
        let (digest, manifest) = repository.manifest(&place.reference).await?;
        let base = repository.base.without_account();
        let key = ["oci", &base, &digest].map(str::to_owned);
        if let Some(content) = self.cache.recall(&key.each_ref().map(String::as_str))? {
            return Ok(content);
        }
        let half = self.cache.half()?;
        let deadline = repository.deadline;
        let mut packed = Vec::new();
        let mut left = self.web.limits.package_bytes;
        for (layer, action) in choose(&repository.base, &manifest)? {
            // By name: as many open files as layers may be more than a process may have.
            let path = half.scratch().join(format!("layer-{}", packed.len()));
            let mut file = File::create_new(&path).map_err(|error| unkept(&error))?;
            repository.blob(&layer.digest, &mut file, &mut left).await?;
            packed.push((layer, action, path));
        }
        let (cache, limits) = (self.cache.clone(), self.web.limits.clone());
        blocking(move || {
            let mut tree = Tree::new(&half.folder, &limits, deadline);
            for (layer, action, path) in packed {
                let mut file = File::open(&path).map_err(|error| unkept(&error))?;
                let found = digest_of(&mut file)?;
                if found != layer.digest {
                    let want = &layer.digest;
                    return Err(Fault::changed(format!(
                        "A layer of {base} has the digest {found}, not {want} as its manifest says."
                    )));
                }
                match action {
                    Use::Unpack(kind) => archive::unpack(file, kind, &limits, &mut tree)?,
                    Use::Keep(name) => tree.file(&name, false, &mut file)?,
                }
                std::fs::remove_file(&path).map_err(|error| unkept(&error))?;
            }
            let tree = tree.finish()?;
            let content = cache.keep(&half, &tree, &digest)?;
            cache.remember(&key.each_ref().map(String::as_str), &content)?;
            Ok(content)
        })
        .await
    }

    /// The digest of the manifest that is meant now. Fetches no files.
    pub async fn oci_revision(&self, place: &OciPlace, credentials: &Credentials) -> Result<String, Fault> {
        let mut repository = Repository::open(&self.web, &place.url, credentials, self.deadline())?;
        Ok(repository.manifest(&place.reference).await?.0)
    }
}
