//! OCI mirrors, as OpenTofu has them: a repository has a provider, a tag a version, and an index a package per platform.
//!
//! Source: OpenTofu `internal/getproviders/oci_registry_mirror_source.go`. The layer's digest is that of the archive, so that it vouches for
//! this package alone, as a network mirror does.

use ashlar_addr::{Provider, Version};
use ashlar_sources::{Client, Fault, FaultKind};
use serde::Deserialize;

use crate::{
    error::InstallError,
    hash::{self, Hashes},
    offer::{Listed, Offer, Proof},
    platform::Platform,
    remote::Parcel,
    template::Template,
};

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const PROVIDER: &str = "application/vnd.opentofu.provider";
const TARGET: &str = "application/vnd.opentofu.provider-target";
const MODULE: &str = "application/vnd.opentofu.modulepkg";
const ZIP: &str = "archive/zip";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Document {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    #[serde(default)]
    manifests: Vec<Descriptor>,
    #[serde(default)]
    layers: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    #[serde(default)]
    media_type: String,
    #[serde(default)]
    artifact_type: String,
    digest: String,
    platform: Option<Target>,
}

#[derive(Deserialize)]
struct Target {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default, rename = "os.version")]
    os_version: String,
}

fn read(bytes: &[u8], media_type: &str, artifact_type: &str) -> Result<Document, String> {
    let document: Document = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let kind = &*document.media_type;
    if kind != media_type {
        return Err(match kind {
            MANIFEST => {
                "it is one image, and a provider's version is an index of packages for several platforms"
                    .to_owned()
            }
            INDEX => "it is an index, where one package should be".to_owned(),
            kind => format!("it is of the kind {kind:?}, not {media_type}"),
        });
    }
    if document.artifact_type != artifact_type {
        return Err(match &*document.artifact_type {
            MODULE => "it is a package of a module, not of a provider".to_owned(),
            "" => "it says of no artifact type; is it an image of a container?".to_owned(),
            kind => format!("it is an artifact of the type {kind:?}, not {artifact_type}"),
        });
    }
    Ok(document)
}

/// The digest of the package's manifest for a platform; none if there are only others.
fn target(index: &[u8], platform: &Platform) -> Result<Option<String>, String> {
    let index = read(index, INDEX, PROVIDER)?;
    let (mut found, mut others) = (Vec::new(), 0);
    for descriptor in index.manifests {
        if descriptor.artifact_type != TARGET {
            continue;
        }
        if descriptor.media_type != MANIFEST {
            return Err(format!(
                "a package in it is of the kind {:?}",
                descriptor.media_type
            ));
        }
        let own = descriptor
            .platform
            .ok_or("a package in it does not say for which platform it is")?;
        if own.os_version.is_empty() && own.os == platform.os && own.architecture == platform.arch {
            found.push(descriptor.digest);
        } else {
            others += 1;
        }
    }
    match (found.pop(), found.is_empty()) {
        (Some(_), false) => Err(format!("it has several packages for {platform}")),
        (Some(digest), true) => Ok(Some(digest)),
        (None, _) if others > 0 => Ok(None),
        (None, _) => Err(format!("it has no package of the artifact type {TARGET}")),
    }
}

/// The digest of the archive.
fn layer(manifest: &[u8]) -> Result<String, String> {
    let manifest = read(manifest, MANIFEST, TARGET)?;
    let mut zips = manifest
        .layers
        .into_iter()
        .filter(|layer| layer.media_type == ZIP);
    match (zips.next(), zips.next()) {
        (Some(layer), None) => Ok(layer.digest),
        (Some(_), Some(_)) => Err(format!("it has several layers of the kind {ZIP}")),
        (None, _) => Err(format!("it has no layer of the kind {ZIP}")),
    }
}

/// A conversation with a registry about one provider.
pub(crate) struct OciMirror<'a> {
    /// How it is asked.
    pub(crate) client: &'a Client,
    /// Which repository.
    pub(crate) template: &'a Template,
    /// Which.
    pub(crate) provider: &'a Provider,
}

impl OciMirror<'_> {
    fn repository(&self) -> Result<String, InstallError> {
        self.template
            .repository(self.provider)
            .map_err(|why| self.nonsense("the OCI mirror".to_owned(), why))
    }

    fn nonsense(&self, place: String, why: String) -> InstallError {
        InstallError::Answer {
            provider: self.provider.clone(),
            place,
            why,
        }
    }

    fn query(&self, repository: &str, fault: Fault) -> InstallError {
        InstallError::Query {
            provider: self.provider.clone(),
            place: place(repository),
            fault,
        }
    }

    /// All versions; other tags are none.
    pub(crate) async fn versions(&self) -> Result<Listed, InstallError> {
        let repository = self.repository()?;
        let query = |fault: Fault| match fault.kind {
            FaultKind::Absent => InstallError::NotFound {
                provider: self.provider.clone(),
                places: vec![place(&repository)],
            },
            _ => self.query(&repository, fault),
        };
        let mut talk = self.client.repository(&repository).map_err(query)?;
        let tags = talk.tags().await.map_err(query)?;
        let mut listed = Listed::default();
        for tag in tags {
            // Tags have no plus sign.
            if let Ok(version) = tag.replace('_', "+").parse::<Version>() {
                listed.versions.insert(version, Vec::new());
            }
        }
        Ok(listed)
    }

    /// How the package of a version is to be had.
    pub(crate) async fn offer(&self, version: &Version, platform: &Platform) -> Result<Offer, InstallError> {
        let repository = self.repository()?;
        let absent = || InstallError::Platform {
            provider: self.provider.clone(),
            version: version.clone(),
            platform: platform.clone(),
            place: place(&repository),
        };
        let query = |fault: Fault| match fault.kind {
            FaultKind::Absent => absent(),
            _ => self.query(&repository, fault),
        };
        let nonsense = |why| self.nonsense(place(&repository), why);
        let mut talk = self.client.repository(&repository).map_err(query)?;
        let tag = version.to_string().replace('+', "_");
        let index = talk.manifest(&tag, INDEX).await.map_err(query)?;
        let digest = target(&index, platform).map_err(nonsense)?.ok_or_else(absent)?;
        let manifest = talk.manifest(&digest, MANIFEST).await.map_err(query)?;
        let layer = layer(&manifest).map_err(nonsense)?;
        let sum = layer.strip_prefix("sha256:").filter(|sum| hash::is_sum(sum));
        let sum =
            sum.ok_or_else(|| nonsense(format!("its archive is named by {layer:?}, which is not sha256")))?;
        let hashes = Hashes::from([hash::of_sum(sum)]);
        Ok(Offer {
            package: Parcel::Blob(repository.clone(), layer),
            proof: Proof::Told(hashes),
        })
    }
}

fn place(repository: &str) -> String {
    format!("the OCI repository {repository}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(kind: &str, manifests: &str) -> String {
        format!(r#"{{"mediaType": "{INDEX}", "artifactType": "{kind}", "manifests": [{manifests}]}}"#)
    }

    fn package(arch: &str, digest: &str) -> String {
        format!(
            r#"{{"mediaType": "{MANIFEST}", "artifactType": "{TARGET}", "digest": "{digest}", "size": 2,
                "platform": {{"os": "linux", "architecture": "{arch}"}}}}"#
        )
    }

    #[test]
    fn an_index_has_one_package_for_a_platform() {
        let platform = "linux_amd64".parse().unwrap();
        let check = |json: String, want: Result<Option<&str>, &str>| {
            let got = target(json.as_bytes(), &platform);
            match want {
                Ok(want) => assert_eq!(got, Ok(want.map(str::to_owned)), "{json}"),
                Err(part) => assert!(got.clone().is_err_and(|error| error.contains(part)), "{got:?}"),
            }
        };
        let (here, there) = (package("amd64", "sha256:1"), package("arm64", "sha256:2"));
        let other = r#"{"mediaType": "x", "digest": "sha256:3"}"#;
        check(
            index(PROVIDER, &[&here, &*there, other].join(",")),
            Ok(Some("sha256:1")),
        );
        check(index(PROVIDER, &there), Ok(None));
        check(index(PROVIDER, other), Err("no package"));
        check(
            index(PROVIDER, &[&*here, &here].join(",")),
            Err("several packages"),
        );
        check(index(MODULE, &here), Err("a module"));
        check(index("", &here), Err("image of a container"));
        check(format!(r#"{{"mediaType": "{MANIFEST}"}}"#), Err("one image"));
        check("[1".to_owned(), Err(""));
    }

    #[test]
    fn a_package_has_one_archive() {
        let check = |layers: &str, want: Result<&str, &str>| {
            let json =
                format!(r#"{{"mediaType": "{MANIFEST}", "artifactType": "{TARGET}", "layers": [{layers}]}}"#);
            let got = layer(json.as_bytes());
            match want {
                Ok(want) => assert_eq!(got.as_deref(), Ok(want)),
                Err(part) => assert!(got.clone().is_err_and(|error| error.contains(part)), "{got:?}"),
            }
        };
        let zip = |digest: &str| format!(r#"{{"mediaType": "{ZIP}", "digest": "{digest}"}}"#);
        let note = r#"{"mediaType": "text/plain", "digest": "sha256:0"}"#;
        check(&[&zip("sha256:1"), note].join(","), Ok("sha256:1"));
        check(note, Err("no layer"));
        check(
            &[zip("sha256:1"), zip("sha256:2")].join(","),
            Err("several layers"),
        );
    }
}
