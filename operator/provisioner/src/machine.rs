//! Is the machine that answers the one that was meant? Decided by the host key that a connection gives.
//!
//! As with Terraform the key may be the machine's own, or that of an authority that signs certificates of machines: it is
//! handed to both checks. Without one every machine is trusted, as Terraform does.
//!
//! Source: Terraform `communicator/ssh/provisioner.go`; golang.org/x/crypto/ssh `certs.go`.

use std::time::{SystemTime, UNIX_EPOCH};

use russh::{
    client,
    keys::{Certificate, HashAlg, PublicKey, PublicKeyOrCertificate, ssh_key::certificate::CertType},
};

/// The machine as the protocol's client sees it.
pub(crate) struct Machine {
    host: String,
    key: Option<PublicKey>,
}

impl Machine {
    pub(crate) fn new(host: &str, key: Option<PublicKey>) -> Self {
        Self {
            host: host.to_owned(),
            key,
        }
    }

    /// Does a certificate, whose key the machine has proved to hold, tell that it is this host?
    fn vouches(&self, wanted: &PublicKey, shown: &Certificate, now: u64) -> bool {
        if shown.public_key() == wanted.key_data() {
            return true;
        }
        let named = shown.valid_principals();
        shown.cert_type() == CertType::Host
            && (named.is_empty() || named.contains(&self.host))
            && shown.critical_options().is_empty()
            && shown.signature_key() == wanted.key_data()
            && shown
                .validate_at(now, [&wanted.fingerprint(HashAlg::Sha256)])
                .is_ok()
    }
}

impl client::Handler for Machine {
    type Error = russh::Error;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, russh::Error> {
        let Some(wanted) = &self.key else {
            return Ok(true);
        };
        Ok(match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => wanted.key_data() == key.key_data(),
            PublicKeyOrCertificate::Certificate(shown) => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                now.is_ok_and(|now| self.vouches(wanted, shown, now.as_secs()))
            }
        })
    }
}
