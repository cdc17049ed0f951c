//! RSA keys of users: the SSH library is built without RSA, so signatures are made here.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use rsa::{
    BoxedUint, PrivateKey,
    pkcs1::DecodeRsaPrivateKey,
    pkcs1v15::SigningKey,
    pkcs8::DecodePrivateKey,
    signature::{SignatureEncoding, Signer},
    traits::PublicKeyParts,
};
use russh::{
    client::{self, AuthResult},
    keys::{
        HashAlg, PublicKey,
        agent::AgentIdentity,
        ssh_key::{
            Mpint,
            private::KeypairData,
            public::{KeyData, RsaPublicKey},
        },
    },
};

use crate::fault::Fault;

/// The RSA key in a PEM text; none if it is another kind of key.
pub fn read(pem: &str) -> Result<Option<PrivateKey>, Fault> {
    // Never with what the parser says: that may be of the key.
    let malformed = || Fault::asked("The private key (identity) is no sound RSA key without a passphrase.");
    let body = |label: &str| {
        let (_, rest) = pem.split_once(&format!("-----BEGIN {label}-----"))?;
        let (body, _) = rest.split_once("-----END")?;
        STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
    };
    if pem.contains("-----BEGIN RSA PRIVATE KEY-----") {
        let der = body("RSA PRIVATE KEY").ok_or_else(malformed)?;
        return PrivateKey::from_pkcs1_der(&der)
            .map(Some)
            .map_err(|_| malformed());
    }
    if let Some(der) = body("PRIVATE KEY") {
        return Ok(PrivateKey::from_pkcs8_der(&der).ok());
    }
    let Ok(key) = russh::keys::PrivateKey::from_openssh(pem) else {
        return Ok(None);
    };
    let KeypairData::Rsa(pair) = key.key_data() else {
        return Ok(None);
    };
    let number = |number: &Mpint| number.as_positive_bytes().map(BoxedUint::from_be_slice_vartime);
    let parts = (
        number(pair.public().n()),
        number(pair.public().e()),
        number(pair.private().d()),
        number(pair.private().p()),
        number(pair.private().q()),
    );
    let (Some(n), Some(e), Some(d), Some(p), Some(q)) = parts else {
        return Err(malformed());
    };
    PrivateKey::from_components(n, e, d, vec![p, q])
        .map(Some)
        .map_err(|_| malformed())
}

/// Logs a user in with such a key.
pub async fn log_in<H: client::Handler>(
    session: &mut client::Handle<H>,
    user: &str,
    key: PrivateKey,
) -> Result<bool, russh::Error> {
    let number = |number: &BoxedUint| Mpint::from_positive_bytes(&number.to_be_bytes_trimmed_vartime());
    let public = RsaPublicKey::new(number(key.e()), number(key.n()));
    let public = public.map_err(|_| russh::Error::Inconsistent)?;
    let public = PublicKey::from(KeyData::Rsa(public));
    let mut signer = KeySigner(SigningKey::new(key));
    let result = session
        .authenticate_publickey_with(user, public, Some(HashAlg::Sha256), &mut signer)
        .await
        .map_err(|Unsigned| russh::Error::Inconsistent)?;
    Ok(matches!(result, AuthResult::Success))
}

struct KeySigner(SigningKey<rsa::sha2::Sha256>);

#[derive(Debug)]
struct Unsigned;

impl From<russh::SendError> for Unsigned {
    fn from(_: russh::SendError) -> Self {
        Self
    }
}

impl fmt::Display for Unsigned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it could not be signed")
    }
}

impl russh::Signer for KeySigner {
    type Error = Unsigned;

    /// Appends the signature, with its kind, as one field; that of RFC 8332.
    async fn auth_sign(
        &mut self,
        _: &AgentIdentity,
        _: Option<HashAlg>,
        mut data: Vec<u8>,
    ) -> Result<Vec<u8>, Unsigned> {
        let signature = self.0.try_sign(&data).map_err(|_| Unsigned)?.to_vec();
        let kind = b"rsa-sha2-256";
        let field = |data: &mut Vec<u8>, bytes: &[u8]| {
            data.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(0).to_be_bytes());
            data.extend_from_slice(bytes);
        };
        let mut whole = Vec::new();
        field(&mut whole, kind);
        field(&mut whole, &signature);
        field(&mut data, &whole);
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use rsa::{
        pkcs1v15::{Signature, VerifyingKey},
        signature::Verifier,
    };
    use russh::Signer as _;

    use super::*;

    /// A key made by OpenSSH, in one of its forms.
    fn made(form: &[&str]) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let made = Command::new("ssh-keygen")
            .args(["-q", "-t", "rsa", "-b", "2048", "-N", "", "-f"])
            .arg(&path)
            .args(form)
            .status();
        assert!(made.unwrap().success());
        std::fs::read_to_string(path).unwrap()
    }

    #[tokio::test]
    async fn keys_in_all_forms_sign() {
        for form in [&[][..], &["-m", "PEM"], &["-m", "PKCS8"]] {
            let key = read(&made(form)).unwrap().unwrap();
            let verifier = VerifyingKey::<rsa::sha2::Sha256>::new(key.as_ref().clone());
            let mut signer = KeySigner(SigningKey::new(key));
            let public = PublicKey::from_openssh(
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
            );
            let identity = AgentIdentity::from(public.unwrap());
            let signed = signer.auth_sign(&identity, None, b"data".to_vec()).await.unwrap();
            // The data, the length of the rest, the kind, the length of the signature.
            let rest = signed
                .strip_prefix(b"data\0\0\x01\x14\0\0\0\x0crsa-sha2-256\0\0\x01\0")
                .unwrap();
            verifier
                .verify(b"data", &Signature::try_from(rest).unwrap())
                .unwrap();
        }
    }

    #[test]
    fn other_keys_are_none_and_broken_ones_are_not_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let status = Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&path)
            .status();
        assert!(status.unwrap().success());
        assert!(read(&std::fs::read_to_string(path).unwrap()).unwrap().is_none());
        assert!(read("no key").unwrap().is_none());
        let broken = "-----BEGIN RSA PRIVATE KEY-----\nczNjcmV0\n-----END RSA PRIVATE KEY-----";
        let fault = read(broken).unwrap_err();
        assert!(!fault.text.contains("czNjcmV0"), "{fault}");
    }
}
