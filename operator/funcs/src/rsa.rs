//! RSA private keys as text, and decryption with them: PEM of PKCS #1 and PKCS #8, and unencrypted OpenSSH keys.
//!
//! Keys and plain texts never get into an error.

use ::rsa::{BoxedUint, Pkcs1v15Encrypt, PrivateKey, pkcs1::DecodeRsaPrivateKey, pkcs8::DecodePrivateKey};

use crate::encoding::decode_base64;

/// Reads a key; the error is a clause for people.
pub(crate) fn private_key(text: &str) -> Result<PrivateKey, String> {
    let (label, body) = pem(text).ok_or("the private key is not in PEM format")?;
    if body.contains("ENCRYPTED") {
        return Err("the private key is encrypted with a passphrase, which is not supported".to_owned());
    }
    let body: String = body.split_whitespace().collect();
    let der = decode_base64(&body).map_err(|_| "the private key is not valid PEM")?;
    let key = match label {
        "RSA PRIVATE KEY" => PrivateKey::from_pkcs1_der(&der).ok(),
        "PRIVATE KEY" => PrivateKey::from_pkcs8_der(&der).ok(),
        "OPENSSH PRIVATE KEY" => openssh(&der),
        _ => return Err(format!("the key is of an unsupported kind, {label:?}")),
    };
    key.ok_or_else(|| "the private key is not a valid RSA key".to_owned())
}

/// Decrypts PKCS #1 v1.5; the error is a clause for people.
pub(crate) fn decrypt(key: &PrivateKey, ciphertext: &[u8]) -> Result<Vec<u8>, &'static str> {
    key.decrypt(Pkcs1v15Encrypt, ciphertext)
        .map_err(|_| "the ciphertext cannot be decrypted with this key")
}

/// Label and body of the first PEM block.
fn pem(text: &str) -> Option<(&str, &str)> {
    let (_, text) = text.split_once("-----BEGIN ")?;
    let (label, text) = text.split_once("-----")?;
    let (body, _) = text.split_once(&format!("-----END {label}-----"))?;
    Some((label, body))
}

/// The RSA key in an OpenSSH key file without passphrase.
fn openssh(bytes: &[u8]) -> Option<PrivateKey> {
    let mut file = Fields(bytes.strip_prefix(b"openssh-key-v1\0")?);
    if (file.next()?, file.next()?) != (b"none".as_slice(), b"none".as_slice()) {
        return None;
    }
    // Options, the number of keys, the public key.
    file.next()?;
    file.skip(4)?;
    file.next()?;
    let mut key = Fields(file.next()?);
    key.skip(8)?;
    if key.next()? != b"ssh-rsa" {
        return None;
    }
    let [n, e, d, _inverse, p, q] = std::array::from_fn(|_| key.next());
    let number = |bytes: Option<&[u8]>| bytes.map(BoxedUint::from_be_slice_vartime);
    PrivateKey::from_components(number(n)?, number(e)?, number(d)?, vec![number(p)?, number(q)?]).ok()
}

/// Fields with a length before each.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn skip(&mut self, count: usize) -> Option<()> {
        self.0 = self.0.get(count..)?;
        Some(())
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.0.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (field, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(field)
    }
}
