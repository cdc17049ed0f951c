//! What needs a network, behind one face: registries, network mirrors, OCI mirrors.

use ashlar_addr::{Provider, Version};
use ashlar_sources::{Client, Endpoint, Fault};

use crate::{
    error::InstallError,
    method::Location,
    network::NetworkMirror,
    oci::OciMirror,
    offer::{Listed, Offer},
    platform::Platform,
    registry::Registry,
};

/// A conversation with a source about one provider.
pub(crate) enum Remote<'a> {
    Registry(Box<Registry<'a>>),
    Network(NetworkMirror<'a>),
    Oci(OciMirror<'a>),
}

/// Where a package is.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// At an address.
    Http(Endpoint),
    /// In a repository, by its digest.
    Blob(String, String),
}

impl Parcel {
    /// Fetches it into a file.
    pub(crate) async fn save(&self, client: &Client, file: &mut std::fs::File) -> Result<(), Fault> {
        match self {
            Self::Http(endpoint) => {
                let mut reply = client.get(endpoint, "*/*", client.deadline()).await?;
                if !reply.is_success() {
                    return Err(reply.failure());
                }
                reply.save(file).await
            }
            Self::Blob(repository, digest) => client.repository(repository)?.blob(digest, file).await,
        }
    }
}

impl<'a> Remote<'a> {
    pub(crate) async fn open(
        client: &'a Client,
        location: &'a Location,
        provider: &'a Provider,
    ) -> Result<Self, InstallError> {
        match location {
            Location::Direct => Ok(Self::Registry(Box::new(
                Registry::discover(client, provider).await?,
            ))),
            Location::Network(url) => Ok(Self::Network(NetworkMirror {
                client,
                url,
                provider,
            })),
            Location::Oci(template) => Ok(Self::Oci(OciMirror {
                client,
                template,
                provider,
            })),
            Location::Filesystem(_) => Err(InstallError::NotFound {
                provider: provider.clone(),
                places: vec![location.place(provider)],
            }),
        }
    }

    pub(crate) async fn versions(&self) -> Result<Listed, InstallError> {
        match self {
            Self::Registry(registry) => registry.versions().await,
            Self::Network(mirror) => mirror.versions().await,
            Self::Oci(mirror) => mirror.versions().await,
        }
    }

    pub(crate) async fn offer(&self, version: &Version, platform: &Platform) -> Result<Offer, InstallError> {
        match self {
            Self::Registry(registry) => registry.offer(version, platform).await,
            Self::Network(mirror) => mirror.offer(version, platform).await,
            Self::Oci(mirror) => mirror.offer(version, platform).await,
        }
    }
}
