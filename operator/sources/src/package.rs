//! Packages by their addresses, as Terraform's getter takes them: which way is meant, and what its parameters are.

use std::{future::Future, pin::Pin as Pinned, time::Instant};

use ashlar_config::source::{ModuleSource, RemotePackage, SourceFault};
use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{
    address::Address,
    cache::Content,
    credentials::{Credentials, Keyring, Wallet},
    fault::Fault,
    fetcher::{Fetcher, blocking},
    git::{GitPlace, Reference},
    oci::{OciPlace, OciReference},
    subfolder,
};

/// Content that is on its way.
type Coming<'s> = Pinned<Box<dyn Future<Output = Result<Content, Fault>> + Send + 's>>;

/// A package on its way: from address to address, until there are files.
pub(crate) struct Package<'a> {
    pub(crate) fetcher: &'a Fetcher,
    pub(crate) ring: &'a Keyring,
    pub(crate) deadline: Instant,
    /// Redirects by `X-Terraform-Get` that are left.
    pub(crate) hops: usize,
    /// The commit that is meant, whatever the reference says now.
    pub(crate) commit: Option<&'a str>,
}

impl<'a> Package<'a> {
    pub(crate) fn new(fetcher: &'a Fetcher, ring: &'a Keyring, commit: Option<&'a str>) -> Self {
        Self {
            fetcher,
            ring,
            deadline: fetcher.deadline(),
            hops: fetcher.web.limits.redirects,
            commit,
        }
    }

    pub(crate) fn wallet(&self) -> Wallet {
        Wallet::Ring(self.ring.clone())
    }

    /// The files of a package, whatever folder in it is meant.
    pub(crate) async fn fetch(&mut self, source: &RemotePackage) -> Result<Content, Fault> {
        // Nothing of the way over `git::` or `s3::` is a scheme.
        let address = Address::parse(&source.address)?;
        let way = source.getter.as_deref().unwrap_or(&address.scheme).to_owned();
        match &*way {
            "git" => self.git(address).await,
            "oci" => self.oci(address).await,
            "s3" => self.s3(address).await,
            "gcs" => self.gcs(address).await,
            "http" | "https" => self.download(address).await,
            "file" => self.folder(address).await,
            "hg" => Err(Fault::asked(format!(
                "{address} is a Mercurial repository, which cannot be fetched here. Serve it as an archive, or keep the module in git."
            ))),
            other => Err(Fault::asked(format!(
                "{address} cannot be fetched: there is no way that is called {other}. For git write git:: before the address."
            ))),
        }
    }

    /// What a server names in place of files. `from`: where it was named.
    pub(crate) fn follow<'s>(&'s mut self, location: &str, from: &Address) -> Result<Coming<'s>, Fault> {
        let package = location_of(location, from)?;
        if from.scheme == "https" && has_scheme(&package, "http") {
            return Err(Fault::refused(format!(
                "{from} names a package whose address is not encrypted; that is not followed."
            )));
        }
        self.hops = self.hops.checked_sub(1).ok_or_else(|| {
            let limit = self.fetcher.web.limits.redirects;
            Fault::refused(format!(
                "{from} redirects more than {limit} times, which is the limit."
            ))
        })?;
        Ok(Box::pin(async move {
            let content = self.fetch(&package).await?;
            subfolder::narrow(self.fetcher, content, &package.folder).await
        }))
    }

    async fn git(&self, mut address: Address) -> Result<Content, Fault> {
        let reference = address.take_parameter("ref");
        let key = address.take_parameter("sshkey");
        // Only one commit's files are fetched, however deep history is asked for.
        address.take_parameter("depth");
        let reference = match (self.commit, reference) {
            (Some(commit), _) => Reference::Commit(commit.to_owned()),
            (None, Some(name)) if !name.is_empty() => Reference::Name(name),
            _ => Reference::Head,
        };
        let wallet = match key {
            None => self.wallet(),
            Some(key) => {
                let identity = STANDARD.decode(key.replace(' ', "+")).ok();
                let identity = identity.and_then(|bytes| String::from_utf8(bytes).ok());
                let identity =
                    identity.ok_or_else(|| Fault::asked("sshkey is not a private key in PEM, in base64."))?;
                let credentials = Credentials {
                    identity: Some(identity),
                    ..self.ring.of(&address)
                };
                Wallet::place(&address, credentials)
            }
        };
        let place = GitPlace {
            url: address.with_account(),
            reference,
            submodules: true,
        };
        let git = self.fetcher.git_with(wallet);
        blocking(move || git.content(&place)).await
    }

    async fn oci(&self, mut address: Address) -> Result<Content, Fault> {
        let (tag, digest) = (address.take_parameter("tag"), address.take_parameter("digest"));
        if address.query.is_some() {
            return Err(Fault::asked(format!(
                "{address} has other parameters than tag and digest."
            )));
        }
        let reference = match (tag, digest) {
            (Some(_), Some(_)) => {
                return Err(Fault::asked(format!(
                    "{address} has both a tag and a digest; one of them says what is meant."
                )));
            }
            (None, Some(digest)) => OciReference::Digest(digest),
            (tag, None) => OciReference::Tag(tag.unwrap_or_else(|| "latest".to_owned())),
        };
        let web = Address {
            scheme: "https".to_owned(),
            ..address.clone()
        };
        let place = OciPlace {
            url: address.with_account(),
            reference,
        };
        self.fetcher.oci(&place, &self.ring.of(&web)).await
    }
}

/// Is it this scheme, whatever way it is to be fetched? Schemes have no case.
pub(crate) fn has_scheme(package: &RemotePackage, scheme: &str) -> bool {
    let found = package.address.split_once(':');
    found.is_some_and(|(found, _)| found.eq_ignore_ascii_case(scheme))
}

/// A package that a server names: an address as in a configuration, or one beside the server's own.
pub(crate) fn location_of(location: &str, from: &Address) -> Result<RemotePackage, Fault> {
    let nowhere = || {
        Fault::refused(format!(
            "{from} names no package: {}.",
            crate::address::redacted(location)
        ))
    };
    let is_beside = location.starts_with('/') || location.starts_with("./") || location.starts_with("../");
    let text = if is_beside {
        let (path, folder) = location.split_once("//").unwrap_or((location, ""));
        let (path, query) = match (path.split_once('?'), folder.split_once('?')) {
            (Some((path, query)), _) => (path, Some(query)),
            (None, Some((_, query))) => (path, Some(query)),
            _ => (path, None),
        };
        let folder = folder.split('?').next().unwrap_or_default();
        let mut address = from.join(path)?;
        address.query = query.map(str::to_owned);
        let (base, query) = (
            Address {
                query: None,
                ..address.clone()
            }
            .without_account(),
            address.query,
        );
        let folder = if folder.is_empty() {
            String::new()
        } else {
            format!("//{folder}")
        };
        format!(
            "{base}{folder}{}",
            query.map_or(String::new(), |query| format!("?{query}"))
        )
    } else {
        location.to_owned()
    };
    match ModuleSource::parse(&text, false) {
        Ok(ModuleSource::Remote(package)) => {
            // A server's word must not reach files of this machine.
            if has_scheme(&package, "file") || package.getter.as_deref() == Some("file") {
                return Err(Fault::refused(format!(
                    "{from} names a file of this machine, which is not followed."
                )));
            }
            Ok(package)
        }
        Ok(_) | Err(SourceFault::NoKind | SourceFault::Malformed(_)) => Err(nowhere()),
    }
}
