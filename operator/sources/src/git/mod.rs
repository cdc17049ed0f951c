//! Git repositories: one commit's files, without history.
//!
//! In this process: a cluster's image has neither `git` nor `ssh`. A person's own commands use their `git`, and with it their
//! agent, SSH configuration and credential helpers (`program`).

mod checkout;
mod http;
mod known_hosts;
mod program;
mod refs;
mod remote;
pub mod rsa_key;
mod ssh;

use std::{path::Path, time::Instant};

use gix_hash::ObjectId;
use tokio::runtime::Handle;

pub use self::refs::Reference;
use self::{
    checkout::{Objects, Submodule},
    program::Program,
    refs::{Refs, Wanted},
    remote::{Alarm, Meter, Remote},
};
use crate::{
    address::Address,
    cache::{Cache, Content},
    credentials::Wallet,
    fault::Fault,
    http::Web,
    tree::{Tree, shown},
};

/// Submodules inside each other.
const DEEPEST_SUBMODULE: usize = 5;

/// What of which repository.
#[derive(Clone, PartialEq, Eq)]
pub struct GitPlace {
    /// The repository: `https://…`, `http://…`, `ssh://…`, `USER@HOST:PATH`, and `file://…` for a person's own commands.
    pub url: String,
    /// What of it.
    pub reference: Reference,
    /// Fetch the repositories that it has as submodules, too?
    pub submodules: bool,
}

impl GitPlace {
    /// A repository without its submodules.
    pub fn new(url: impl Into<String>, reference: Reference) -> Self {
        Self {
            url: url.into(),
            reference,
            submodules: false,
        }
    }

    pub(crate) fn address(&self) -> Result<Address, Fault> {
        address(&self.url)
    }
}

/// An address may carry an account, which is not told.
impl std::fmt::Debug for GitPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitPlace")
            .field("url", &crate::address::redacted(&self.url))
            .field("reference", &self.reference)
            .field("submodules", &self.submodules)
            .finish()
    }
}

/// A repository's address; that of SSH may be in the form of `scp`.
fn address(url: &str) -> Result<Address, Fault> {
    let url = url.strip_prefix("git::").unwrap_or(url);
    if !url.contains("://")
        && let Some((host, path)) = url.split_once(':')
        && !host.contains('/')
        && !path.is_empty()
    {
        return Address::parse(&format!("ssh://{host}/{}", path.trim_start_matches('/')));
    }
    Address::parse(url)
}

/// Is it the whole name of a commit?
pub(crate) fn is_commit(text: &str) -> bool {
    refs::full_id(text).is_some()
}

/// All that a fetch from git needs.
#[derive(Clone)]
pub(crate) struct Git {
    pub(crate) web: Web,
    pub(crate) wallet: Wallet,
    pub(crate) cache: Cache,
    pub(crate) deadline: Instant,
    pub(crate) handle: Handle,
    /// Use the `git` of this machine?
    pub(crate) program: bool,
}

impl Git {
    /// The commit that is meant. Blocks.
    pub(crate) fn revision(&self, place: &GitPlace) -> Result<String, Fault> {
        let address = self.check(place)?;
        match self.ask(&address, &place.reference)?.1 {
            Wanted::Told { commit, .. } | Wanted::Commit(commit) => Ok(commit.to_string()),
            Wanted::Short(_) => self.content(place).map(|content| content.revision),
        }
    }

    /// The files of what is meant. Blocks.
    pub(crate) fn content(&self, place: &GitPlace) -> Result<Content, Fault> {
        let address = self.check(place)?;
        // The server is asked even if the commit is known: it says who may have it.
        let (remote, wanted) = self.ask(&address, &place.reference)?;
        // A tree with submodules is never remembered: another's server would not be asked who may have them.
        let submodules = if place.submodules { "has no submodules" } else { "" };
        let repository = address.without_account();
        let key = |commit: &str| ["git", &repository, commit, submodules].map(str::to_owned);
        if let Wanted::Told { commit, .. } | Wanted::Commit(commit) = &wanted {
            let key = key(&commit.to_string());
            if let Some(content) = self.cache.recall(&key.each_ref().map(String::as_str))? {
                return Ok(content);
            }
        }
        let half = self.cache.half()?;
        let mut tree = Tree::new(&half.folder, &self.web.limits, self.deadline);
        let (commit, is_alone) = self.fetch(
            &address,
            remote,
            &wanted,
            "",
            place.submodules,
            0,
            half.scratch(),
            &mut tree,
        )?;
        let digest = tree.finish()?;
        let content = self.cache.keep(&half, &digest, &commit.to_string())?;
        if is_alone {
            let key = key(&content.revision);
            self.cache
                .remember(&key.each_ref().map(String::as_str), &content)?;
        }
        Ok(content)
    }

    fn check(&self, place: &GitPlace) -> Result<Address, Fault> {
        place.reference.check()?;
        let address = place.address()?;
        match &*address.scheme {
            "https" | "http" | "ssh" => Ok(address),
            "file" if self.web.reach.has_files() && self.program => Ok(address),
            "file" => Err(Fault::refused(format!(
                "{address} is a folder of the machine that fetches, which is nobody's business but its own."
            ))),
            scheme => Err(Fault::asked(format!(
                "{address} cannot be fetched: git repositories are by https, http and ssh, not by {scheme}."
            ))),
        }
    }

    /// Asks the server what a reference means. Without the `git` of this machine the conversation can go on.
    fn ask(&self, address: &Address, reference: &Reference) -> Result<(Option<Remote>, Wanted), Fault> {
        let (remote, refs) = self.refs(address, &reference.prefixes())?;
        let wanted = refs.choose(reference, &address.to_string())?;
        Ok((remote, wanted))
    }

    fn refs(&self, address: &Address, prefixes: &[String]) -> Result<(Option<Remote>, Refs), Fault> {
        if self.program {
            let refs = self.program_at(address)?.refs(prefixes)?;
            return Ok((None, refs));
        }
        let mut remote = self.open(address)?;
        let refs = remote.refs(prefixes)?;
        Ok((Some(remote), refs))
    }

    fn program_at<'a>(&'a self, address: &'a Address) -> Result<Program<'a>, Fault> {
        let identity = self.wallet.of(address).identity;
        Program::new(address, identity.as_deref(), self.deadline, &self.web.limits)
    }

    fn open(&self, address: &Address) -> Result<Remote, Fault> {
        let meter = Meter::new();
        let transport = if address.scheme == "ssh" {
            ssh::transport(
                &self.web,
                &self.wallet,
                address,
                self.deadline,
                &self.handle,
                &meter,
            )?
        } else {
            http::transport(
                &self.web,
                &self.wallet,
                address,
                self.deadline,
                &self.handle,
                &meter,
            )?
        };
        let alarm = Alarm {
            handle: self.handle.clone(),
            deadline: self.deadline,
        };
        Remote::begin(transport, meter, &self.web.limits, alarm, address.to_string())
    }

    /// Fetches a commit, and puts its files into a tree below a folder. Is it without submodules that came along?
    #[expect(
        clippy::too_many_arguments,
        reason = "one step of a recursion; all of it changes from call to call"
    )]
    fn fetch(
        &self,
        address: &Address,
        remote: Option<Remote>,
        wanted: &Wanted,
        prefix: &str,
        submodules: bool,
        depth: usize,
        scratch: &Path,
        tree: &mut Tree,
    ) -> Result<(ObjectId, bool), Fault> {
        let place = tempfile::tempdir_in(scratch)
            .map_err(|error| Fault::local("Objects of git cannot be kept", &error))?;
        let (mut objects, id) = self.objects(address, remote, wanted, place.path())?;
        let (id, commit) = objects.commit(id)?;
        let found = objects.check_out(&commit, prefix, tree)?;
        drop((objects, place));
        for submodule in found.iter().filter(|_| submodules) {
            self.fetch_submodule(address, submodule, depth + 1, scratch, tree)?;
        }
        Ok((id, !submodules || found.is_empty()))
    }

    fn fetch_submodule(
        &self,
        parent: &Address,
        submodule: &Submodule,
        depth: usize,
        scratch: &Path,
        tree: &mut Tree,
    ) -> Result<(), Fault> {
        if depth > DEEPEST_SUBMODULE {
            return Err(Fault::refused(format!(
                "{parent} has submodules inside each other deeper than the limit of {DEEPEST_SUBMODULE}."
            )));
        }
        let url = &submodule.url;
        let address = if url.starts_with("./") || url.starts_with("../") {
            // Relative to the repository, as if it were a folder.
            let folder = Address {
                path: format!("{}/", parent.path.trim_end_matches('/')),
                ..parent.clone()
            };
            let mut address = folder.join(url)?;
            address.user.clone_from(&parent.user);
            address.password.clone_from(&parent.password);
            address
        } else {
            address(url)?
        };
        if address.scheme == "file" && parent.scheme != "file" {
            return Err(Fault::refused(format!(
                "{parent} has a submodule in a folder of this machine, {}, which is nobody's business but its own.",
                shown(&submodule.path)
            )));
        }
        let mut place = GitPlace::new(
            address.without_account(),
            Reference::Commit(submodule.commit.to_string()),
        );
        place.submodules = true;
        self.check(&place)?;
        let remote = if self.program {
            None
        } else {
            Some(self.open(&address)?)
        };
        let wanted = Wanted::Commit(submodule.commit);
        self.fetch(
            &address,
            remote,
            &wanted,
            &submodule.path,
            true,
            depth,
            scratch,
            tree,
        )
        .map(|_| ())
        .map_err(|fault| Fault {
            text: format!(
                "The submodule {} of {parent}: {}",
                shown(&submodule.path),
                fault.text
            ),
            ..fault
        })
    }

    fn opened(&self, bundles: Vec<gix_pack::Bundle>) -> Objects {
        Objects::new(bundles, &self.web.limits, self.deadline)
    }

    /// The objects that a commit needs, and more where the server cannot do less.
    fn objects(
        &self,
        address: &Address,
        remote: Option<Remote>,
        wanted: &Wanted,
        folder: &Path,
    ) -> Result<(Objects, ObjectId), Fault> {
        let direct = match wanted {
            Wanted::Told { id, .. } | Wanted::Commit(id) => Some(*id),
            Wanted::Short(_) => None,
        };
        if let Some(id) = direct {
            let fetched = match remote {
                Some(remote) => remote.pack(&[id], true, folder).map(|bundle| vec![bundle]),
                None => self.program_at(address)?.fetch(&[id.to_string()], true, folder),
            };
            match fetched {
                Ok(bundles) => return Ok((self.opened(bundles), id)),
                // Some servers give nothing that they do not tell of, unless it is part of what they do.
                Err(fault)
                    if matches!(wanted, Wanted::Commit(_))
                        && matches!(
                            fault.kind,
                            crate::fault::FaultKind::Absent | crate::fault::FaultKind::Unreachable
                        ) => {}
                Err(fault) => return Err(fault),
            }
        }
        let prefixes = ["refs/heads/", "refs/tags/"].map(str::to_owned);
        let all = folder.join("all");
        std::fs::create_dir(&all).map_err(|error| Fault::local("Objects of git cannot be kept", &error))?;
        let (remote, refs) = self.refs(address, &prefixes)?;
        let ids: Vec<ObjectId> = refs
            .0
            .iter()
            .filter(|one| prefixes.iter().any(|p| one.name.starts_with(p)))
            .map(|one| one.id)
            .collect();
        let bundles = match remote {
            Some(remote) => vec![remote.pack(&ids, false, &all)?],
            None => {
                let specs = prefixes.map(|prefix| format!("{prefix}*"));
                self.program_at(address)?.fetch(&specs, false, &all)?
            }
        };
        let mut objects = self.opened(bundles);
        let id = match wanted {
            Wanted::Told { id, .. } | Wanted::Commit(id) => *id,
            Wanted::Short(short) => objects.by_prefix(short)?,
        };
        Ok((objects, id))
    }
}
