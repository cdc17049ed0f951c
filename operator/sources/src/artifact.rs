//! Artifacts of OCI registries, piece by piece, for whoever knows what they mean (the packages of providers).

use std::fs::File;

use crate::{client::Client, fault::Fault, oci::Repository};

/// A conversation with an OCI registry about one repository.
pub struct OciRepository<'a> {
    repository: Repository<'a>,
    most: u64,
}

impl Client {
    /// Begins one about `HOST[:PORT]/NAME`, with the account that there is for the host.
    pub fn repository(&self, place: &str) -> Result<OciRepository<'_>, Fault> {
        let host = place.split('/').next().unwrap_or_default();
        let credentials = self.ring.for_host(host);
        let url = format!("oci://{place}");
        Ok(OciRepository {
            repository: Repository::open(&self.web, &url, &credentials, self.deadline())?,
            most: self.web.limits.package_bytes,
        })
    }
}

impl OciRepository<'_> {
    /// All tags.
    pub async fn tags(&mut self) -> Result<Vec<String>, Fault> {
        self.repository.tags().await
    }

    /// A manifest or an index by its tag or its digest; what is named by a digest has it.
    pub async fn manifest(&mut self, reference: &str, kind: &'static str) -> Result<Vec<u8>, Fault> {
        let (digest, bytes) = self.repository.document(reference, kind).await?;
        if reference.contains(':') && digest != reference {
            return Err(self.repository.changed(&digest, reference));
        }
        Ok(bytes)
    }

    /// A blob into a file. Whether it has its digest is the caller's to check.
    pub async fn blob(&mut self, digest: &str, file: &mut File) -> Result<(), Fault> {
        let mut left = self.most;
        self.repository.blob(digest, file, &mut left).await
    }
}
