//! Sealing of plans: packed, encrypted, and bound to where they belong.
//!
//! A plan holds the values of variables and state. Each plan has a key of its own, which only the keys of its workspace
//! unwrap. Every piece is bound to namespace, workspace, digest and its place among the pieces: pieces of another plan,
//! another order or a part of them do not open.

use std::io::Read;

use chacha20poly1305::{
    KeyInit, XChaCha20Poly1305, XNonce,
    aead::{Aead, Payload},
};
use serde::{Deserialize, Serialize};

use super::{chunks::CHUNK, key::WorkspaceKeys};

const VERSION: u32 = 1;
/// No plan unpacks to more.
const MAX_PLAN: u64 = 512 * 1024 * 1024;
const LEVEL: i32 = 3;
const KEY: usize = 32;
const NONCE: usize = 24;

/// Where a plan belongs.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) namespace: &'a str,
    pub(super) uid: &'a str,
    pub(super) digest: &'a str,
}

/// What is needed to open the pieces, besides the workspace's keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Seal {
    version: u32,
    /// Which operator key.
    origin: String,
    /// Nonce and wrapped plan key, as hex.
    key: String,
    pieces: usize,
}

/// Why a plan does not open. Says nothing of its content.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum SealError {
    #[error("it was sealed by another version")]
    Version,
    #[error("it was sealed with another key of the operator")]
    OtherKey,
    #[error("it is damaged, or does not belong here")]
    Damaged,
    #[error("it is too large")]
    TooLarge,
}

/// Seals a plan; gives the pieces to keep and the seal to keep beside them.
pub(super) fn seal(
    keys: &WorkspaceKeys,
    place: Place<'_>,
    plan: &[u8],
) -> Result<(Seal, Vec<Vec<u8>>), SealError> {
    let packed = zstd::stream::encode_all(plan, LEVEL).map_err(|_| SealError::TooLarge)?;
    let plan_key = rand::random::<[u8; KEY]>();
    // The tag of each piece makes it a little larger than a chunk, which leaves room for that.
    let parts: Vec<&[u8]> = if packed.is_empty() {
        vec![&[]]
    } else {
        packed.chunks(CHUNK).collect()
    };
    let cipher = XChaCha20Poly1305::new(&plan_key.into());
    let pieces = parts.iter().enumerate().map(|(at, part)| {
        let bound = bind(place, Some((at, parts.len())));
        cipher
            .encrypt(
                &piece_nonce(at),
                Payload {
                    msg: part,
                    aad: &bound,
                },
            )
            .map_err(|_| SealError::TooLarge)
    });
    let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
    let nonce = rand::random::<[u8; NONCE]>();
    let wrapped = XChaCha20Poly1305::new(&keys.wrap.into())
        .encrypt(
            &nonce.into(),
            Payload {
                msg: &plan_key,
                aad: &bind(place, None),
            },
        )
        .map_err(|_| SealError::TooLarge)?;
    let key = hex::encode([nonce.as_slice(), &wrapped].concat());
    Ok((
        Seal {
            version: VERSION,
            origin: keys.origin.clone(),
            key,
            pieces: pieces.len(),
        },
        pieces,
    ))
}

/// Opens a plan.
pub(super) fn open(
    keys: &WorkspaceKeys,
    place: Place<'_>,
    seal: &Seal,
    pieces: &[Vec<u8>],
) -> Result<Vec<u8>, SealError> {
    if seal.version != VERSION {
        return Err(SealError::Version);
    }
    if seal.origin != keys.origin {
        return Err(SealError::OtherKey);
    }
    let damaged = |_| SealError::Damaged;
    let wrapped = hex::decode(&seal.key).map_err(|_| SealError::Damaged)?;
    let (nonce, wrapped) = wrapped.split_at_checked(NONCE).ok_or(SealError::Damaged)?;
    let plan_key = XChaCha20Poly1305::new(&keys.wrap.into())
        .decrypt(
            XNonce::from_slice(nonce),
            Payload {
                msg: wrapped,
                aad: &bind(place, None),
            },
        )
        .map_err(damaged)?;
    let cipher = XChaCha20Poly1305::new_from_slice(&plan_key).map_err(|_| SealError::Damaged)?;
    if pieces.len() != seal.pieces {
        return Err(SealError::Damaged);
    }
    let mut packed = Vec::with_capacity(pieces.iter().map(Vec::len).sum());
    for (at, piece) in pieces.iter().enumerate() {
        let bound = bind(place, Some((at, pieces.len())));
        packed.extend(
            cipher
                .decrypt(
                    &piece_nonce(at),
                    Payload {
                        msg: piece,
                        aad: &bound,
                    },
                )
                .map_err(damaged)?,
        );
    }
    let mut plan = Vec::new();
    let unpacked = zstd::stream::read::Decoder::new(packed.as_slice())
        .and_then(|packed| packed.take(MAX_PLAN + 1).read_to_end(&mut plan));
    unpacked.map_err(|_| SealError::Damaged)?;
    if plan.len() as u64 > MAX_PLAN {
        Err(SealError::TooLarge)
    } else {
        Ok(plan)
    }
}

/// Each plan has its own key, so a count is a nonce that never repeats.
fn piece_nonce(at: usize) -> XNonce {
    let mut nonce = [0; NONCE];
    nonce[..8].copy_from_slice(&(at as u64).to_le_bytes());
    nonce.into()
}

/// What is not encrypted but must be the same when it is opened. Lengths keep the parts apart.
fn bind(place: Place<'_>, piece: Option<(usize, usize)>) -> Vec<u8> {
    let mut bound = b"ashlar plan v1".to_vec();
    for part in [place.namespace, place.uid, place.digest] {
        bound.extend((part.len() as u64).to_le_bytes());
        bound.extend(part.as_bytes());
    }
    if let Some((at, of)) = piece {
        bound.extend((at as u64).to_le_bytes());
        bound.extend((of as u64).to_le_bytes());
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::{super::key::OperatorKey, *};

    const PLACE: Place<'static> = Place {
        namespace: "ns",
        uid: "uid",
        digest: "d",
    };

    fn keys(operator: u8, uid: &str) -> WorkspaceKeys {
        OperatorKey::new([operator; 32]).workspace(uid)
    }

    /// A plan that takes several pieces even when packed.
    fn plan(pieces: usize) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u8
        };
        (0..CHUNK * (pieces - 1) + 10).map(|_| next()).collect()
    }

    #[test]
    fn what_is_sealed_opens_again() {
        for plan in [Vec::new(), b"plan".to_vec(), plan(3)] {
            let (seal, pieces) = seal(&keys(1, "uid"), PLACE, &plan).unwrap();
            assert_eq!(open(&keys(1, "uid"), PLACE, &seal, &pieces).unwrap(), plan);
            assert!(pieces.iter().all(|piece| piece.len() <= CHUNK + 16));
        }
    }

    #[test]
    fn what_does_not_belong_does_not_open() {
        let (seal, pieces) = seal(&keys(1, "uid"), PLACE, &plan(3)).unwrap();
        let check =
            |keys: WorkspaceKeys, place: Place<'_>, seal: &Seal, pieces: &[Vec<u8>], want: SealError| {
                assert_eq!(open(&keys, place, seal, pieces).unwrap_err(), want);
            };
        check(keys(2, "uid"), PLACE, &seal, &pieces, SealError::OtherKey);
        check(keys(1, "other"), PLACE, &seal, &pieces, SealError::Damaged);
        for place in [
            Place {
                namespace: "other",
                ..PLACE
            },
            Place {
                uid: "other",
                ..PLACE
            },
            Place {
                digest: "other",
                ..PLACE
            },
            Place {
                namespace: "n",
                uid: "suid",
                ..PLACE
            },
        ] {
            check(keys(1, "uid"), place, &seal, &pieces, SealError::Damaged);
        }
        let mut swapped = pieces.clone();
        swapped.swap(0, 1);
        check(keys(1, "uid"), PLACE, &seal, &swapped, SealError::Damaged);
        check(keys(1, "uid"), PLACE, &seal, &pieces[..2], SealError::Damaged);
        let short = Seal {
            pieces: 2,
            ..seal.clone()
        };
        check(keys(1, "uid"), PLACE, &short, &pieces[..2], SealError::Damaged);
        let mut hurt = pieces.clone();
        hurt[2][0] ^= 1;
        check(keys(1, "uid"), PLACE, &seal, &hurt, SealError::Damaged);
        for key in ["", "00", "zz", &"00".repeat(100)] {
            let bad = Seal {
                key: key.to_owned(),
                ..seal.clone()
            };
            check(keys(1, "uid"), PLACE, &bad, &pieces, SealError::Damaged);
        }
        let new = Seal { version: 2, ..seal };
        check(keys(1, "uid"), PLACE, &new, &pieces, SealError::Version);
    }
}
