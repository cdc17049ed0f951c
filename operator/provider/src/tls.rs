//! Mutual TLS with a plugin, as go-plugin's AutoMTLS does it.
//!
//! Each process gets a certificate of ours that it alone knows, and answers its handshake with one of its own. The
//! connection stands only with exactly that certificate: no authority, no name and no date is asked.

use std::sync::Arc;

use p521::ecdsa::{DerSignature, Signature, VerifyingKey, signature::Verifier};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error as TlsError, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{
        CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
    },
    pki_types::{
        AlgorithmIdentifier, CertificateDer, InvalidSignature, PrivateKeyDer, ServerName,
        SignatureVerificationAlgorithm, UnixTime, alg_id,
    },
};
use tokio_rustls::TlsConnector;

/// Why TLS could not be set up; says nothing secret.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdentityError {
    /// Our certificate.
    #[error("a certificate for the plugin could not be made")]
    Certificate(#[source] rcgen::Error),
    /// The key in the form TLS wants.
    #[error("TLS could not be set up")]
    Tls(#[source] TlsError),
}

/// Our side of one plugin's connection.
pub(crate) struct Identity {
    pem: String,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl Identity {
    /// A new key and a certificate that Go takes for client authentication.
    pub(crate) fn new() -> Result<Self, IdentityError> {
        let key = KeyPair::generate().map_err(IdentityError::Certificate)?;
        let mut params =
            CertificateParams::new(vec!["localhost".to_owned()]).map_err(IdentityError::Certificate)?;
        // The plugin trusts the certificate by having it in its pool, so it must be its own authority.
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ClientAuth,
            ExtendedKeyUsagePurpose::ServerAuth,
        ];
        let certificate = params.self_signed(&key).map_err(IdentityError::Certificate)?;
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.der().clone(),
            key,
        })
    }

    /// What the plugin is told in `PLUGIN_CLIENT_CERT`.
    pub(crate) fn pem(&self) -> &str {
        &self.pem
    }

    /// Connects to whoever holds the key of `server`, and to nobody else.
    pub(crate) fn trusting(self, server: CertificateDer<'static>) -> Result<TlsConnector, IdentityError> {
        let provider = Arc::new(ring::default_provider());
        let verifier = Pinned {
            server,
            provider: provider.clone(),
        };
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(IdentityError::Tls)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_client_auth_cert(vec![self.certificate], self.key)
            .map_err(IdentityError::Tls)?;
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

/// Takes one certificate only.
#[derive(Debug)]
struct Pinned {
    server: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn algorithms(&self, scheme: SignatureScheme) -> &WebPkiSupportedAlgorithms {
        if scheme == SignatureScheme::ECDSA_NISTP521_SHA512 {
            &P521_ALGORITHMS
        } else {
            &self.provider.signature_verification_algorithms
        }
    }
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, TlsError> {
        if *end_entity == self.server {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(TlsError::General(
                "the plugin shows another certificate than in its handshake".to_owned(),
            ))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls12_signature(message, certificate, signed, self.algorithms(signed.scheme))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, TlsError> {
        verify_tls13_signature(message, certificate, signed, self.algorithms(signed.scheme))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let mut schemes = self
            .provider
            .signature_verification_algorithms
            .supported_schemes();
        schemes.push(SignatureScheme::ECDSA_NISTP521_SHA512);
        schemes
    }
}

/// Plugins built with go-plugin sign with P-521, which ring lacks.
static P521_ALGORITHMS: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[&P521],
    mapping: &[(SignatureScheme::ECDSA_NISTP521_SHA512, &[&P521])],
};

/// ECDSA over P-521 with SHA-512.
#[derive(Debug)]
struct P521;

impl SignatureVerificationAlgorithm for P521 {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let key = VerifyingKey::from_sec1_bytes(public_key).map_err(|_| InvalidSignature)?;
        let signature = DerSignature::try_from(signature).map_err(|_| InvalidSignature)?;
        let signature = Signature::try_from(signature).map_err(|_| InvalidSignature)?;
        key.verify(message, &signature).map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_P521
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        alg_id::ECDSA_SHA512
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pinned_certificate() {
        let (ours, other) = (Identity::new().unwrap(), Identity::new().unwrap());
        let verifier = Pinned {
            server: ours.certificate.clone(),
            provider: Arc::new(ring::default_provider()),
        };
        let name = ServerName::try_from("localhost").unwrap();
        let now = UnixTime::since_unix_epoch(std::time::Duration::ZERO);
        let verify =
            |certificate: &CertificateDer<'_>| verifier.verify_server_cert(certificate, &[], &name, &[], now);
        assert!(verify(&ours.certificate).is_ok());
        assert!(verify(&other.certificate).is_err());
    }

    #[test]
    fn p521_refuses_nonsense() {
        for (key, signature) in [(&[][..], &[][..]), (&[4; 133][..], &[0x30, 0][..])] {
            assert!(P521.verify_signature(key, b"m", signature).is_err());
        }
    }
}
