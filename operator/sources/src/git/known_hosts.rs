//! Keys of SSH servers, as OpenSSH's `known_hosts` has them.

use hmac::{Hmac, Mac};
use russh::keys::{
    Algorithm, PublicKey,
    ssh_key::known_hosts::{HostPatterns, KnownHosts, Marker},
};
use sha1::Sha1;

use crate::fault::Fault;

/// The keys of a server; an error if there are none that can be used.
pub(crate) fn keys_of(known_hosts: &str, host: &str, port: u16) -> Result<Vec<PublicKey>, Fault> {
    let mut names = vec![format!("[{host}]:{port}")];
    if port == 22 {
        names.push(host.to_owned());
    }
    let mut keys = Vec::new();
    let mut revoked = Vec::new();
    let mut only_other = false;
    // Lines with keys of a kind that nobody knows are none of ours.
    for entry in KnownHosts::new(known_hosts).filter_map(Result::ok) {
        if !names.iter().any(|name| matches(entry.host_patterns(), name)) {
            continue;
        }
        let key = entry.public_key();
        match entry.marker() {
            Some(Marker::Revoked) => revoked.push(key.key_data().clone()),
            Some(Marker::CertAuthority) => {}
            None if matches!(key.algorithm(), Algorithm::Rsa { .. } | Algorithm::Dsa) => only_other = true,
            None => keys.push(key.clone()),
        }
    }
    keys.retain(|key| !revoked.contains(key.key_data()));
    if !keys.is_empty() {
        return Ok(keys);
    }
    let why = if only_other {
        "only a key of a kind that cannot be checked here (RSA or DSA)"
    } else {
        "no key"
    };
    Err(Fault::denied(format!(
        "known_hosts has {why} for {host}, port {port}: put its Ed25519 or ECDSA key there, or fetch by https."
    )))
}

fn matches(patterns: &HostPatterns, name: &str) -> bool {
    match patterns {
        HostPatterns::HashedName { salt, hash } => Hmac::<Sha1>::new_from_slice(salt)
            .is_ok_and(|hmac| hmac.chain_update(name).verify_slice(hash).is_ok()),
        HostPatterns::Patterns(patterns) => {
            let mut found = false;
            for pattern in patterns {
                match pattern.strip_prefix('!') {
                    Some(pattern) if glob(pattern.as_bytes(), name.as_bytes()) => return false,
                    Some(_) => {}
                    None => found = found || glob(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()),
                }
            }
            found
        }
    }
}

/// `*` and `?`, in time that is linear in the product of both lengths.
fn glob(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == b'?' || name.get(n) == Some(c) => {
                p += 1;
                n += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    p = at + 1;
                    n = from + 1;
                    star = Some((at, n));
                }
                None => return false,
            },
        }
    }
    pattern.iter().skip(p).all(|c| *c == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    const TWO: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJDpGqfdsMCbxpWcxVhMfE9ipZkdeWlOaDnkUxFUyWfa";

    #[test]
    fn the_keys_of_a_host_are_found() {
        let check = |lines: &str, host: &str, port: u16, want: usize| {
            let got = keys_of(lines, host, port).map_or(0, |keys| keys.len());
            assert_eq!(got, want, "{lines} {host} {port}");
        };
        let both = format!("# text\na.test,b.test {ONE} comment\n[a.test]:2222 {TWO}\nbroken\n");
        check(&both, "a.test", 22, 1);
        check(&both, "b.test", 22, 1);
        check(&both, "a.test", 2222, 1);
        check(&both, "b.test", 2222, 0);
        check(&both, "c.test", 22, 0);
        check(&format!("*.test,!b.test {ONE}"), "a.test", 22, 1);
        check(&format!("*.test,!b.test {ONE}"), "b.test", 22, 0);
        check(
            &format!("a.test {ONE}\n@revoked * {ONE}\na.test {TWO}"),
            "a.test",
            22,
            1,
        );
        check(&format!("@cert-authority * {ONE}"), "a.test", 22, 0);
        // `ssh-keygen -H` of a.test.
        let salt = [7; 20];
        let hash = Hmac::<Sha1>::new_from_slice(&salt)
            .unwrap()
            .chain_update("a.test")
            .finalize()
            .into_bytes();
        use base64::{Engine, engine::general_purpose::STANDARD};
        let hashed = format!("|1|{}|{} {ONE}", STANDARD.encode(salt), STANDARD.encode(hash));
        check(&hashed, "a.test", 22, 1);
        check(&hashed, "b.test", 22, 0);
    }
}
