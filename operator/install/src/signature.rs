//! OpenPGP signatures of checksum lists.
//!
//! Source: Terraform `internal/getproviders/package_authentication.go`: one of the keys that the registry names must have
//! signed the list; a key that has expired since still vouches for what it signed, and a key that was revoked does not. Which
//! registry is trusted is not decided here.

use pgp::{
    composed::{Deserializable, DetachedSignature, SignedPublicKey, SignedPublicSubKey},
    packet::{Signature, SignatureType},
    types::KeyDetails,
};

/// Largest key that is read; registries' keys have some kilobytes.
const LARGEST_KEY: usize = 1 << 20;

/// Why a list is not to be trusted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    /// The signature is none.
    #[error("the signature of the checksums cannot be read: {0}")]
    Malformed(String),
    /// A key is none.
    #[error("a signing key that the registry names cannot be read: {0}")]
    Key(String),
    /// None of the keys made it.
    #[error("the checksums are signed by none of the keys that the registry names")]
    Unknown,
    /// The key was revoked.
    #[error("the checksums are signed by the key {0}, which its owner has revoked")]
    Revoked(String),
    /// It is not the signature of this list.
    #[error("the signature of the checksums by the key {key} does not hold: {why}")]
    Wrong {
        /// By which key it claims to be.
        key: String,
        /// What is wrong.
        why: String,
    },
}

/// Checks that one of the keys, each in ASCII armour, signed the list. Gives the key's id.
pub(crate) fn check(list: &[u8], signature: &[u8], keys: &[String]) -> Result<String, SignatureError> {
    let malformed = |error: pgp::errors::Error| SignatureError::Malformed(error.to_string());
    let parsed = if signature.trim_ascii_start().starts_with(b"-----BEGIN PGP") {
        DetachedSignature::from_armor_single(signature)
            .map(|(signature, _)| signature)
            .map_err(malformed)?
    } else {
        DetachedSignature::from_bytes(signature).map_err(malformed)?
    };
    let over_list = matches!(
        parsed.signature.typ(),
        Some(SignatureType::Binary | SignatureType::Text)
    );
    if !over_list {
        let why = "it is a signature of something else than a file".to_owned();
        return Err(SignatureError::Malformed(why));
    }
    for armour in keys {
        if armour.len() > LARGEST_KEY {
            return Err(SignatureError::Key("it is too large".to_owned()));
        }
        let unreadable = |error: pgp::errors::Error| SignatureError::Key(error.to_string());
        // Names go into no pattern: comments between the armour's lines may be in any encoding.
        let (found, _) = SignedPublicKey::from_armor_many(armour.as_bytes()).map_err(unreadable)?;
        for key in found {
            let key = key.map_err(unreadable)?;
            if let Some(verdict) = by_key(list, &parsed, &key) {
                return verdict;
            }
        }
    }
    Err(SignatureError::Unknown)
}

/// The verdict of a key and its subkeys; none if the signature does not claim to be by one of them.
fn by_key(
    list: &[u8],
    signature: &DetachedSignature,
    key: &SignedPublicKey,
) -> Option<Result<String, SignatureError>> {
    let name = hex::encode_upper(key.legacy_key_id().as_ref());
    let wrong = |error: pgp::errors::Error| SignatureError::Wrong {
        key: name.clone(),
        why: error.to_string(),
    };
    let signed = if claims(&signature.signature, &key.primary_key) {
        signature.verify(&key.primary_key, list).map_err(wrong)
    } else {
        let subkey = key
            .public_subkeys
            .iter()
            .find(|subkey| claims(&signature.signature, &subkey.key))?;
        may_sign(key, subkey)
            .and_then(|()| signature.verify(&subkey.key, list))
            .map_err(wrong)
    };
    let revoked = key.details.revocation_signatures.iter();
    let revoked = revoked
        .map(|revocation| revocation.verify_key(&key.primary_key))
        .any(|verdict| verdict.is_ok());
    Some(signed.and_then(|()| {
        if revoked {
            Err(SignatureError::Revoked(name.clone()))
        } else {
            Ok(name.clone())
        }
    }))
}

/// Does a signature say that it is by this key?
fn claims(signature: &Signature, key: &impl KeyDetails) -> bool {
    let by_print = signature
        .issuer_fingerprint()
        .into_iter()
        .any(|print| *print == key.fingerprint());
    by_print
        || signature
            .issuer_key_id()
            .into_iter()
            .any(|id| *id == key.legacy_key_id())
}

/// Is a subkey bound to its key by both, for signing, and not revoked?
fn may_sign(key: &SignedPublicKey, subkey: &SignedPublicSubKey) -> pgp::errors::Result<()> {
    let refuse = |why: &str| {
        let error = std::io::Error::other(why.to_owned());
        Err(pgp::errors::Error::from(error))
    };
    let mut may = false;
    for binding in &subkey.signatures {
        match binding.typ() {
            Some(SignatureType::SubkeyRevocation)
                if binding
                    .verify_subkey_binding(&key.primary_key, &subkey.key)
                    .is_ok() =>
            {
                return refuse("its subkey was revoked");
            }
            Some(SignatureType::SubkeyBinding) if binding.key_flags().sign() => {
                binding.verify_subkey_binding(&key.primary_key, &subkey.key)?;
                // Without it anybody could claim the subkeys of others.
                if let Some(back) = binding.embedded_signature() {
                    back.verify_primary_key_binding(&subkey.key, &key.primary_key)?;
                    may = true;
                }
            }
            _ => {}
        }
    }
    if may {
        Ok(())
    } else {
        refuse("its subkey is not for signing")
    }
}

#[cfg(test)]
mod tests;
