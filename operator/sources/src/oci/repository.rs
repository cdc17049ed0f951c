//! A conversation with a registry about one repository: what it is asked, and how one is known to it.

use std::{collections::BTreeMap, fs::File};

use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::{OciReference, layers::Manifest};
use crate::{
    address::{Address, encode},
    credentials::{Credentials, DOCKER_HUB, Wallet, registry_host},
    fault::Fault,
    http::{Answer, Ask, Web},
    range::Range,
    tree::shown,
};

/// Largest manifest, as registries have to take; and largest list of tags, and token.
const LARGEST_MANIFEST: usize = 4 << 20;
/// Most pages of tags, and most tags.
const MOST_PAGES: usize = 100;
const MOST_TAGS: usize = 100_000;
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// A conversation with a registry about one repository.
pub(crate) struct Repository<'a> {
    web: &'a Web,
    /// `https://HOST/v2/NAME/`
    pub(crate) base: Address,
    name: String,
    credentials: Credentials,
    wallet: Wallet,
    pub(super) deadline: std::time::Instant,
}

impl<'a> Repository<'a> {
    pub(crate) fn open(
        web: &'a Web,
        url: &str,
        credentials: &Credentials,
        deadline: std::time::Instant,
    ) -> Result<Self, Fault> {
        let mut base = Address::parse(url)?;
        if base.scheme != "oci" {
            return Err(Fault::asked(format!(
                "{base} is no OCI repository: its address begins with oci://."
            )));
        }
        let credentials = credentials.with_account_of(&base);
        (base.user, base.password, base.query) = (None, None, None);
        let name = base.path.trim_matches('/').to_owned();
        let part = |part: &str| {
            let sound = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
            part.starts_with(|c: char| c.is_ascii_alphanumeric()) && part.chars().all(sound)
        };
        if name.is_empty() || !name.split('/').all(part) {
            return Err(Fault::asked(format!(
                "{base} names no repository: names have small letters, digits and . _ - in parts with / between."
            )));
        }
        // As all clients of registries have it: what is on this very machine has no certificate.
        let is_here = base.host == "localhost"
            || base
                .host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|ip| ip.is_loopback());
        base.scheme = if is_here { "http" } else { "https" }.to_owned();
        let host = registry_host(&base.authority());
        let account = credentials.registries.get(&host).cloned();
        let name = if host == DOCKER_HUB {
            base.host = "registry-1.docker.io".to_owned();
            if name.contains('/') {
                name
            } else {
                format!("library/{name}")
            }
        } else {
            name
        };
        base.path = format!("/v2/{name}/");
        let credentials = match account {
            Some((username, password)) => Credentials {
                username: Some(username),
                password: Some(password),
                bearer_token: None,
                ..credentials
            },
            None => credentials,
        };
        // Until the registry says how, nothing is shown to it.
        let wallet = Wallet::place(
            &base,
            Credentials {
                bearer_token: credentials.bearer_token.clone(),
                authorities: credentials.authorities.clone(),
                ..Credentials::default()
            },
        );
        Ok(Self {
            web,
            name,
            credentials,
            wallet,
            deadline,
            base,
        })
    }

    async fn get(&mut self, path: &str, accept: &'static str) -> Result<Answer, Fault> {
        let address = self.base.join(path)?;
        let ask = || Ask::get(self.deadline).with(header::ACCEPT, accept);
        let answer = self.web.send(&address, &self.wallet, ask()).await?;
        let answer =
            if answer.status == StatusCode::UNAUTHORIZED && answer.address.origin() == self.base.origin() {
                let again = ask();
                self.log_in(&answer).await?;
                self.web.send(&address, &self.wallet, again).await?
            } else {
                answer
            };
        if answer.status.is_success() {
            Ok(answer)
        } else {
            Err(answer.failure())
        }
    }

    /// Does what the registry asks for: an account at once, or a token from where it says.
    async fn log_in(&mut self, refusal: &Answer) -> Result<(), Fault> {
        let challenge = refusal
            .headers
            .get(header::WWW_AUTHENTICATE)
            .and_then(|value| value.to_str().ok());
        let Some(challenge) = challenge else {
            return Err(refusal.failure());
        };
        let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
        let account = Credentials {
            bearer_token: None,
            ..self.credentials.clone()
        };
        if scheme.eq_ignore_ascii_case("basic") {
            if account.authorization().is_none() {
                return Err(refusal.failure());
            }
            self.wallet = Wallet::place(&self.base, account);
            return Ok(());
        }
        let parts = challenge_parts(rest);
        let realm = parts
            .get("realm")
            .filter(|_| scheme.eq_ignore_ascii_case("bearer"));
        let mut realm = Address::parse(realm.ok_or_else(|| refusal.failure())?)?;
        if realm.scheme != "https" && realm.origin() != self.base.origin() {
            return Err(Fault::refused(format!(
                "{} wants an account to be shown to {realm}, which is not encrypted.",
                self.base
            )));
        }
        let scope = format!("repository:{}:pull", self.name);
        let service = parts
            .get("service")
            .map(|service| format!("service={}&", encode(service)));
        realm.query = Some(format!("{}scope={}", service.unwrap_or_default(), encode(&scope)));
        // It is the registry's own account that its own token server is shown.
        let wallet = Wallet::place(&realm, account);
        let mut answer = self.web.send(&realm, &wallet, Ask::get(self.deadline)).await?;
        if !answer.status.is_success() {
            return Err(answer.failure());
        }
        #[derive(Deserialize)]
        struct Token {
            token: Option<String>,
            access_token: Option<String>,
        }
        let body = answer.small(LARGEST_MANIFEST).await?;
        let token = serde_json::from_slice::<Token>(&body).ok();
        let token = token.and_then(|token| token.token.or(token.access_token));
        let token =
            token.ok_or_else(|| Fault::denied(format!("{realm} gives no token for {}.", self.base)))?;
        self.wallet = Wallet::place(
            &self.base,
            Credentials {
                authorities: self.credentials.authorities.clone(),
                ..Credentials::bearer(token)
            },
        );
        Ok(())
    }

    /// A manifest with its digest.
    pub(super) async fn manifest(&mut self, reference: &OciReference) -> Result<(String, Manifest), Fault> {
        let (reference, promised) = match reference {
            OciReference::Tag(tag) => (tag.clone(), None),
            OciReference::Digest(digest) => (digest.clone(), Some(digest)),
            OciReference::Semver(range) => (self.newest(range).await?, None),
        };
        let sound = |c: char| c.is_ascii_alphanumeric() || "._-:".contains(c);
        if reference.is_empty() || reference.len() > 200 || !reference.chars().all(sound) {
            let reference = shown(&reference);
            return Err(Fault::asked(format!(
                "{reference} is neither a tag nor a digest."
            )));
        }
        let accept = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
        let (digest, bytes) = self.document(&reference, accept).await?;
        if promised.is_some_and(|promised| *promised != digest) {
            return Err(self.changed(&digest, &reference));
        }
        let manifest = serde_json::from_slice::<Manifest>(&bytes).map_err(|_| {
            Fault::refused(format!(
                "The manifest {reference} of {} cannot be read.",
                self.base
            ))
        })?;
        let kind = &manifest.media_type;
        if !kind.is_empty() && kind != MANIFEST && kind != DOCKER_MANIFEST {
            return Err(Fault::asked(format!(
                "{reference} of {} is a list of images or something else ({}), not an artifact with files.",
                self.base,
                shown(kind)
            )));
        }
        Ok((digest, manifest))
    }

    /// A manifest or an index as it came, with its digest.
    pub(crate) async fn document(
        &mut self,
        reference: &str,
        accept: &'static str,
    ) -> Result<(String, Vec<u8>), Fault> {
        let mut answer = self.get(&format!("manifests/{reference}"), accept).await?;
        let bytes = answer.small(LARGEST_MANIFEST).await?;
        Ok((format!("sha256:{}", hex::encode(Sha256::digest(&bytes))), bytes))
    }

    pub(crate) fn changed(&self, digest: &str, reference: &str) -> Fault {
        Fault::changed(format!(
            "{} sends the manifest {digest} for {reference}.",
            self.base
        ))
    }

    async fn newest(&mut self, range: &str) -> Result<String, Fault> {
        let range_of = Range::parse(range)?;
        let tags = self.tags().await?;
        range_of
            .newest(tags.iter().map(String::as_str))
            .map(str::to_owned)
            .ok_or_else(|| {
                Fault::absent(format!(
                    "There is no tag with a version in the range {range:?} in {}.",
                    self.base
                ))
            })
    }

    /// All tags.
    pub(crate) async fn tags(&mut self) -> Result<Vec<String>, Fault> {
        #[derive(Deserialize)]
        struct Page {
            tags: Option<Vec<String>>,
        }
        let mut tags = Vec::new();
        let mut next = Some("tags/list?n=1000".to_owned());
        for _ in 0..MOST_PAGES {
            let Some(path) = next.take() else { break };
            let mut answer = self.get(&path, "application/json").await?;
            let body = answer.small(LARGEST_MANIFEST).await?;
            let page: Page = serde_json::from_slice(&body)
                .map_err(|_| Fault::refused(format!("The list of tags of {} cannot be read.", self.base)))?;
            tags.extend(page.tags.unwrap_or_default());
            if tags.len() > MOST_TAGS {
                return Err(Fault::refused(format!(
                    "{} has more than {MOST_TAGS} tags, which is the limit.",
                    self.base
                )));
            }
            next = next_page(answer.headers.get(header::LINK));
        }
        Ok(tags)
    }

    pub(crate) async fn blob(&mut self, digest: &str, file: &mut File, left: &mut u64) -> Result<(), Fault> {
        let sound = digest
            .strip_prefix("sha256:")
            .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        if !sound {
            return Err(Fault::asked(format!(
                "{} names a layer by {}, which is not sha256.",
                self.base,
                shown(digest)
            )));
        }
        let mut answer = self.get(&format!("blobs/{digest}"), "*/*").await?;
        // What came counts, not what was said of it.
        *left -= answer.save_part(file, *left).await?;
        Ok(())
    }
}

/// `NAME="VALUE",…` of a challenge.
fn challenge_parts(text: &str) -> BTreeMap<String, String> {
    let mut parts = BTreeMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([',', ' ']).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        parts.insert(name, value.to_owned());
        rest = after;
    }
    parts
}

/// The address in `<…>; rel="next"`.
fn next_page(link: Option<&HeaderValue>) -> Option<String> {
    let link = link?.to_str().ok()?;
    let (address, rest) = link.strip_prefix('<')?.split_once('>')?;
    rest.contains("next").then(|| address.to_owned())
}
