//! Registries: what their answers say, and what vouches for a package.
//!
//! Source: Terraform `internal/getproviders/registry_client.go`. A package's list of checksums must be signed by one of the keys
//! that the registry names, and have the checksum that the registry tells; only then is the package fetched.

use ashlar_addr::{Provider, Version};
use ashlar_sources::{Client, Endpoint, FaultKind};
use serde::Deserialize;

use crate::{
    error::InstallError,
    hash,
    offer::{Listed, Offer, Proof},
    platform::Platform,
    remote::Parcel,
    signature, sums,
};

/// Largest answer: some providers have hundreds of versions for many platforms.
const LARGEST: usize = 16 << 20;
/// Largest list of checksums, and signature.
const LARGEST_LIST: usize = 1 << 20;

const JSON: &str = "application/json";

#[derive(Deserialize)]
struct Versions {
    #[serde(default)]
    versions: Vec<Named>,
    #[serde(default)]
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Named {
    version: String,
    #[serde(default)]
    protocols: Option<Vec<String>>,
}

/// What a registry says of a package.
#[derive(Deserialize)]
struct Told {
    #[serde(default)]
    protocols: Option<Vec<String>>,
    os: String,
    arch: String,
    filename: String,
    download_url: String,
    shasum: String,
    shasums_url: String,
    shasums_signature_url: String,
    #[serde(default)]
    signing_keys: Keys,
}

#[derive(Default, Deserialize)]
struct Keys {
    #[serde(default)]
    gpg_public_keys: Vec<Key>,
}

#[derive(Deserialize)]
struct Key {
    ascii_armor: String,
}

/// Reads a list of versions; one that is none is left out, as in Terraform.
fn versions(body: &[u8]) -> Result<Listed, String> {
    let read: Versions = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let mut listed = Listed {
        warnings: read.warnings.unwrap_or_default(),
        ..Listed::default()
    };
    for named in read.versions {
        if let Ok(version) = named.version.parse::<Version>() {
            listed
                .versions
                .insert(version, named.protocols.unwrap_or_default());
        }
    }
    Ok(listed)
}

/// Can a provider be spoken to that speaks these? One that does not say is tried.
pub(crate) fn is_spoken(protocols: &[String]) -> bool {
    protocols.is_empty()
        || protocols.iter().any(|protocol| {
            let major = protocol.split('.').next();
            matches!(major, Some("5" | "6"))
        })
}

/// The newest version that can be spoken to. One that does not say what it speaks is none.
fn closest(listed: &Listed) -> Option<Version> {
    let mut newest = listed.versions.iter().rev();
    let found = newest.find(|(_, protocols)| !protocols.is_empty() && is_spoken(protocols));
    found.map(|(version, _)| version.clone())
}

/// A conversation with the registry of a host about one provider.
pub(crate) struct Registry<'a> {
    client: &'a Client,
    provider: &'a Provider,
    base: Endpoint,
}

impl<'a> Registry<'a> {
    /// Asks the provider's host where its registry is.
    pub(crate) async fn discover(client: &'a Client, provider: &'a Provider) -> Result<Self, InstallError> {
        let host = provider.host.to_string();
        let found = client.provider_registry(&host, client.deadline()).await;
        let base = found.map_err(|fault| match fault.kind {
            FaultKind::Absent => InstallError::NoRegistry {
                host,
                provider: provider.clone(),
            },
            _ => InstallError::Host { host, fault },
        })?;
        Ok(Self {
            client,
            provider,
            base,
        })
    }

    fn query(&self, fault: ashlar_sources::Fault) -> InstallError {
        InstallError::Query {
            provider: self.provider.clone(),
            place: self.place(),
            fault,
        }
    }

    fn nonsense(&self, why: impl Into<String>) -> InstallError {
        InstallError::Answer {
            provider: self.provider.clone(),
            place: self.place(),
            why: why.into(),
        }
    }

    fn place(&self) -> String {
        format!("the registry {}", self.provider.host)
    }

    async fn ask(&self, what: &str) -> Result<ashlar_sources::Reply, InstallError> {
        let Provider { namespace, name, .. } = self.provider;
        // All of these are plain names, without anything to be encoded but a version's plus sign.
        let what = what.replace('+', "%2B");
        let place = self.base.join(&format!("{namespace}/{name}/{what}"));
        let place = place.map_err(|fault| self.query(fault))?;
        let reply = self.client.get(&place, JSON, self.client.deadline()).await;
        reply.map_err(|fault| self.query(fault))
    }

    /// All versions.
    pub(crate) async fn versions(&self) -> Result<Listed, InstallError> {
        let mut reply = self.ask("versions").await?;
        if reply.status() == 404 {
            return Err(InstallError::Unknown {
                provider: self.provider.clone(),
            });
        }
        if !reply.is_success() {
            return Err(self.query(reply.failure()));
        }
        let body = reply.small(LARGEST).await.map_err(|fault| self.query(fault))?;
        versions(&body).map_err(|why| self.nonsense(why))
    }

    /// How the package of a version is to be had.
    pub(crate) async fn offer(&self, version: &Version, platform: &Platform) -> Result<Offer, InstallError> {
        let Platform { os, arch } = platform;
        let mut reply = self.ask(&format!("{version}/download/{os}/{arch}")).await?;
        if reply.status() == 404 {
            return Err(InstallError::Platform {
                provider: self.provider.clone(),
                version: version.clone(),
                platform: platform.clone(),
                place: self.place(),
            });
        }
        if !reply.is_success() {
            return Err(self.query(reply.failure()));
        }
        let body = reply.small(LARGEST).await.map_err(|fault| self.query(fault))?;
        let told: Told = serde_json::from_slice(&body).map_err(|error| self.nonsense(error.to_string()))?;
        let protocols = told.protocols.unwrap_or_default();
        if !is_spoken(&protocols) {
            return Err(InstallError::Protocol {
                provider: self.provider.clone(),
                version: version.clone(),
                protocols,
                closest: closest(&self.versions().await?),
                constraints: String::new(),
            });
        }
        if (&told.os, &told.arch) != (os, arch) {
            let why = format!(
                "it names a package for {}_{}, not for {platform}",
                told.os, told.arch
            );
            return Err(self.nonsense(why));
        }
        if !hash::is_sum(&told.shasum) {
            return Err(self.nonsense("its shasum is no SHA-256"));
        }
        let named = |text: &str| reply.names(text).map_err(|fault| self.query(fault));
        let package = named(&told.download_url)?;
        let list = self.small(&named(&told.shasums_url)?).await?;
        let seal = self.small(&named(&told.shasums_signature_url)?).await?;
        let keys: Vec<String> = told
            .signing_keys
            .gpg_public_keys
            .into_iter()
            .map(|key| key.ascii_armor)
            .collect();
        let key = signature::check(&list, &seal, &keys).map_err(|error| InstallError::Signature {
            provider: self.provider.clone(),
            version: version.clone(),
            error,
        })?;
        sums::check(&list, &told.filename, &told.shasum).map_err(|error| InstallError::Sums {
            provider: self.provider.clone(),
            version: version.clone(),
            error,
        })?;
        Ok(Offer {
            package: Parcel::Http(package),
            proof: Proof::Signed {
                key,
                archive: hash::of_sum(&told.shasum),
                all: sums::hashes(&list),
            },
        })
    }

    async fn small(&self, place: &Endpoint) -> Result<Vec<u8>, InstallError> {
        let reply = self.client.get(place, "*/*", self.client.deadline()).await;
        let mut reply = reply.map_err(|fault| self.query(fault))?;
        if !reply.is_success() {
            return Err(self.query(reply.failure()));
        }
        reply.small(LARGEST_LIST).await.map_err(|fault| self.query(fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(json: &str) -> Listed {
        versions(json.as_bytes()).unwrap()
    }

    #[test]
    fn versions_are_read() {
        let json = r#"{"versions": [{"version": "1.2.0", "protocols": ["5.0"], "platforms": []}, {"version": "new"},
            {"version": "1.10.0-beta1"}], "warnings": ["moved"]}"#;
        let listed = listed(json);
        let shown: Vec<String> = listed.versions.keys().map(ToString::to_string).collect();
        assert_eq!(shown, ["1.2.0", "1.10.0-beta1"]);
        assert_eq!(listed.warnings, ["moved"]);
        assert!(versions(b"{").is_err());
        assert!(versions(br#"{"versions": 1}"#).is_err());
        assert!(versions(br#"{"warnings": null}"#).unwrap().versions.is_empty());
    }

    #[test]
    fn protocols_5_and_6_are_spoken() {
        let check = |protocols: &[&str], want: bool| {
            let protocols: Vec<String> = protocols.iter().map(ToString::to_string).collect();
            assert_eq!(is_spoken(&protocols), want, "{protocols:?}");
        };
        check(&["5.0"], true);
        check(&["4.0", "5.1"], true);
        check(&["6"], true);
        check(&["4.0"], false);
        check(&["7.0", "50.0"], false);
        check(&[], true);
    }

    #[test]
    fn the_nearest_compatible_version_is_the_newest_one() {
        let check = |json: &str, want: Option<&str>| {
            let found = closest(&listed(json)).map(|version| version.to_string());
            assert_eq!(found.as_deref(), want, "{json}");
        };
        check(
            r#"{"versions": [{"version": "1.0.0", "protocols": ["5.0"]}, {"version": "1.1.0", "protocols": ["5.0", "6.0"]},
                {"version": "2.0.0", "protocols": ["7.0"]}, {"version": "3.0.0"}]}"#,
            Some("1.1.0"),
        );
        check(
            r#"{"versions": [{"version": "2.0.0", "protocols": ["7.0"]}]}"#,
            None,
        );
    }
}
