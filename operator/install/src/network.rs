//! Network mirrors: `HOST/NAMESPACE/TYPE/index.json` and `…/VERSION.json` below an address.
//!
//! Source: Terraform `internal/getproviders/http_mirror_source.go`. A mirror vouches for what it hands out and for nothing else.

use std::collections::BTreeMap;

use ashlar_addr::{Provider, Version};
use ashlar_sources::{Client, Endpoint, Fault};
use serde::Deserialize;

use crate::{
    error::InstallError,
    hash::Hashes,
    offer::{Listed, Offer, Proof},
    platform::Platform,
    remote::Parcel,
};

/// Largest answer.
const LARGEST: usize = 16 << 20;

const JSON: &str = "application/json";

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    versions: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct Archives {
    #[serde(default)]
    archives: BTreeMap<String, Archive>,
}

#[derive(Deserialize)]
struct Archive {
    url: String,
    #[serde(default, alias = "Hashes")]
    hashes: Option<Vec<String>>,
}

fn index(body: &[u8]) -> Result<Listed, String> {
    let index: Index = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut listed = Listed::default();
    for text in index.versions.into_keys() {
        if let Ok(version) = text.parse::<Version>() {
            listed.versions.insert(version, Vec::new());
        }
    }
    Ok(listed)
}

/// The address and the hashes of the package for a platform.
fn archive(body: &[u8], platform: &Platform) -> Result<Option<(String, Hashes)>, String> {
    let mut read: Archives = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let Some(archive) = read.archives.remove(&platform.to_string()) else {
        return Ok(None);
    };
    let hashes: Hashes = archive.hashes.unwrap_or_default().into_iter().collect();
    if let Some(odd) = hashes.iter().find(|hash| !hash.contains(':')) {
        let odd: String = odd.chars().take(100).collect();
        return Err(format!("{odd:?} is no hash: a scheme, a colon and the hash"));
    }
    Ok(Some((archive.url, hashes)))
}

/// A conversation with a mirror about one provider.
pub(crate) struct NetworkMirror<'a> {
    /// How it is asked.
    pub(crate) client: &'a Client,
    /// Its address, with a slash at its end.
    pub(crate) url: &'a str,
    /// Which.
    pub(crate) provider: &'a Provider,
}

impl NetworkMirror<'_> {
    fn place(&self) -> String {
        format!("the provider mirror at {}", ashlar_sources::redacted(self.url))
    }

    fn query(&self, fault: Fault) -> InstallError {
        InstallError::Query {
            provider: self.provider.clone(),
            place: self.place(),
            fault,
        }
    }

    fn nonsense(&self, why: String) -> InstallError {
        InstallError::Answer {
            provider: self.provider.clone(),
            place: self.place(),
            why,
        }
    }

    /// An answer with its body; none for "there is no such thing".
    async fn ask(&self, file: &str) -> Result<Option<(ashlar_sources::Reply, Vec<u8>)>, InstallError> {
        let Provider {
            host,
            namespace,
            name,
        } = self.provider;
        let file = file.replace('+', "%2B");
        let place: Result<Endpoint, Fault> = self
            .client
            .endpoint(self.url)
            .and_then(|base| base.join(&format!("{host}/{namespace}/{name}/{file}")));
        let place = place.map_err(|fault| self.query(fault))?;
        if !place.is_encrypted() {
            let text = format!("{place} is not encrypted; a mirror's address begins with https://.");
            return Err(self.nonsense(text));
        }
        let reply = self.client.get(&place, JSON, self.client.deadline()).await;
        let mut reply = reply.map_err(|fault| self.query(fault))?;
        if reply.status() == 404 {
            return Ok(None);
        }
        if !reply.is_success() {
            return Err(self.query(reply.failure()));
        }
        if reply.content_type() != Some(JSON) {
            let kind = reply.content_type().unwrap_or("nothing").to_owned();
            return Err(self.nonsense(format!("{} is said to be {kind:?}, not {JSON}", reply.address())));
        }
        let body = reply.small(LARGEST).await.map_err(|fault| self.query(fault))?;
        Ok(Some((reply, body)))
    }

    /// All versions.
    pub(crate) async fn versions(&self) -> Result<Listed, InstallError> {
        match self.ask("index.json").await? {
            Some((_, body)) => index(&body).map_err(|why| self.nonsense(why)),
            None => Err(InstallError::NotFound {
                provider: self.provider.clone(),
                places: vec![self.place()],
            }),
        }
    }

    /// How the package of a version is to be had.
    pub(crate) async fn offer(&self, version: &Version, platform: &Platform) -> Result<Offer, InstallError> {
        let absent = || InstallError::Platform {
            provider: self.provider.clone(),
            version: version.clone(),
            platform: platform.clone(),
            place: self.place(),
        };
        let (reply, body) = self.ask(&format!("{version}.json")).await?.ok_or_else(absent)?;
        let found = archive(&body, platform).map_err(|why| self.nonsense(why))?;
        let (url, hashes) = found.ok_or_else(absent)?;
        let package = reply.names(&url).map_err(|fault| self.query(fault))?;
        if hashes.is_empty() && !package.is_encrypted() {
            let why = format!("it tells no hashes, and its package at {package} is not encrypted");
            return Err(self.nonsense(why));
        }
        Ok(Offer {
            package: Parcel::Http(package),
            proof: Proof::Told(hashes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read() {
        let listed = index(br#"{"versions": {"2.0.0": {}, "2.0.1": {}, "latest": {}}}"#).unwrap();
        let shown: Vec<String> = listed.versions.keys().map(ToString::to_string).collect();
        assert_eq!(shown, ["2.0.0", "2.0.1"]);
        assert!(index(b"1").is_err());
        let platform: Platform = "linux_amd64".parse().unwrap();
        let check = |json: &str, want: Result<Option<(&str, &[&str])>, ()>| {
            let want = want.map(|found| {
                found.map(|(url, hashes)| {
                    (
                        url.to_owned(),
                        hashes.iter().map(ToString::to_string).collect::<Hashes>(),
                    )
                })
            });
            assert_eq!(archive(json.as_bytes(), &platform).map_err(drop), want, "{json}");
        };
        check(
            r#"{"archives": {"linux_amd64": {"url": "x.zip", "hashes": ["h1:b", "zh:a"]}}}"#,
            Ok(Some(("x.zip", &["h1:b", "zh:a"]))),
        );
        check(
            r#"{"archives": {"linux_amd64": {"url": "x.zip"}}}"#,
            Ok(Some(("x.zip", &[]))),
        );
        check(r#"{"archives": {"linux_arm64": {"url": "x.zip"}}}"#, Ok(None));
        check(
            r#"{"archives": {"linux_amd64": {"url": "x", "hashes": ["odd"]}}}"#,
            Err(()),
        );
        check("{", Err(()));
    }
}
