//! What may be fetched, one call each.

use std::{path::PathBuf, time::Instant};

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;

use crate::{
    address::Address,
    archive::{self, Kind},
    cache::{Cache, Content},
    credentials::{Credentials, Wallet},
    fault::{Fault, FaultKind},
    git::{Git, GitPlace},
    http::{Ask, Web},
    limits::Limits,
    reach::Reach,
    tree::Tree,
};

/// Fetches sources into a cache that all of them share. Cheap to clone; needs a Tokio runtime with IO and time.
#[derive(Clone)]
pub struct Fetcher {
    pub(crate) web: Web,
    pub(crate) cache: Cache,
    pub(crate) git_program: bool,
}

impl Fetcher {
    /// One with its cache in a folder, which other processes may use at the same time.
    pub fn new(cache: PathBuf, limits: Limits, reach: Reach) -> Result<Self, Fault> {
        Ok(Self {
            cache: Cache::new(cache, limits.clone())?,
            web: Web::new(reach, limits)?,
            git_program: false,
        })
    }

    /// Fetches from git by this machine's `git`, as Terraform does: with the person's agent, SSH configuration and credential
    /// helpers. Credentials that are passed are not used for git then.
    pub fn with_git_program(mut self) -> Self {
        self.git_program = true;
        self
    }

    /// The limits that hold.
    pub fn limits(&self) -> &Limits {
        &self.web.limits
    }

    pub(crate) fn deadline(&self) -> Instant {
        Instant::now() + self.web.limits.time
    }

    /// The files of a commit; its revision is the commit's name.
    pub async fn git(&self, place: &GitPlace, credentials: &Credentials) -> Result<Content, Fault> {
        let (git, place) = (self.git_at(place, credentials)?, place.clone());
        blocking(move || git.content(&place)).await
    }

    /// The commit that is meant now. Fetches no files.
    pub async fn git_revision(&self, place: &GitPlace, credentials: &Credentials) -> Result<String, Fault> {
        let (git, place) = (self.git_at(place, credentials)?, place.clone());
        blocking(move || git.revision(&place)).await
    }

    fn git_at(&self, place: &GitPlace, credentials: &Credentials) -> Result<Git, Fault> {
        let wallet = Wallet::place(&place.address()?, credentials.clone());
        Ok(self.git_with(wallet))
    }

    pub(crate) fn git_with(&self, wallet: Wallet) -> Git {
        Git {
            web: self.web.clone(),
            wallet,
            cache: self.cache.clone(),
            deadline: self.deadline(),
            handle: Handle::current(),
            program: self.git_program,
        }
    }

    /// What is kept of an earlier fetch; nobody is asked for it. The digest must come from where only we write: whoever names
    /// one is given what is kept under it.
    pub async fn kept(&self, digest: &str, revision: &str) -> Result<Option<Content>, Fault> {
        let (cache, digest, revision) = (self.cache.clone(), digest.to_owned(), revision.to_owned());
        blocking(move || cache.find(&digest, &revision)).await
    }

    /// A Flux artifact: a tar, compressed with gzip, whose bytes have the digest `sha256:…`, or it is not unpacked. `revision`:
    /// what the artifact's object calls it.
    pub async fn artifact(&self, url: &str, digest: &str, revision: &str) -> Result<Content, Fault> {
        let address = Address::parse(url)?;
        let sound = digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        if !sound {
            return Err(Fault::asked(format!(
                "The artifact {address} has the digest {}, which is not sha256: and 64 hex digits.",
                crate::tree::shown(digest)
            )));
        }
        let digest = digest.to_ascii_lowercase();
        let place = address.without_account();
        if let Some(content) = self.cache.recall(&["artifact", &place, &digest])? {
            return Ok(content.called(revision));
        }
        let wallet = Wallet::place(&address, Credentials::default());
        let half = self.cache.half()?;
        let deadline = self.deadline();
        let mut answer = self.web.send(&address, &wallet, Ask::get(deadline)).await?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        let mut file = tempfile::tempfile_in(half.scratch()).map_err(|error| unkept(&error))?;
        answer.save(&mut file).await?;
        let (cache, limits, revision) = (self.cache.clone(), self.web.limits.clone(), revision.to_owned());
        blocking(move || {
            let found = digest_of(&mut file)?;
            if found != digest {
                return Err(Fault::changed(format!(
                    "The artifact {address} has the digest {found}, not {digest} as its object says. It may have been replaced since, or tampered with; it is not used."
                )));
            }
            let mut tree = Tree::new(&half.folder, &limits, deadline);
            archive::unpack(file, Kind::Tar(archive::Packing::Gzip), &limits, &mut tree)?;
            let tree = tree.finish()?;
            let content = cache.keep(&half, &tree, &revision)?;
            cache.remember(&["artifact", &place, &digest], &content)?;
            Ok(content)
        })
        .await
    }
}

/// Runs what blocks on a thread of its own.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        let text = format!("A source could not be fetched, because of a fault in this program: {error}.");
        Err(Fault::new(FaultKind::Local, text))
    })
}

pub(crate) fn unkept(error: &std::io::Error) -> Fault {
    Fault::local("A package could not be kept", error)
}

/// The SHA-256 of a whole file, which is at its beginning after that.
pub(crate) fn digest_of(file: &mut std::fs::File) -> Result<String, Fault> {
    use std::io::Seek;
    let mut hash = Sha256::new();
    let read = file
        .rewind()
        .and_then(|()| std::io::copy(file, &mut hash))
        .and_then(|_| file.rewind());
    read.map_err(|error| unkept(&error))?;
    Ok(format!("sha256:{}", hex::encode(hash.finalize())))
}
