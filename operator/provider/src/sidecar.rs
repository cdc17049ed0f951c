//! Providers that run elsewhere, such as in a container beside the operator: where they listen and what they speak. Pure, but
//! for the turns that runs take.
//!
//! Nobody here starts or ends one. It has one configuration at a time, whoever asks, so a run has it alone until its end.

use std::{
    collections::BTreeMap,
    fmt,
    net::SocketAddr,
    path::PathBuf,
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
};

use ashlar_addr::{Provider, Version};
use serde_json::Value as Json;
use tokio::sync::{Mutex as Turn, OwnedMutexGuard};

use crate::handshake::{Address, Generation};

/// The variable by which Terraform is told of providers that run already.
pub const REATTACH: &str = "TF_REATTACH_PROVIDERS";

/// A provider that runs elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sidecar {
    pub(crate) address: Address,
    pub(crate) generation: Generation,
    /// The release it is, as whoever runs it says.
    version: Option<Version>,
    /// The namespaces whose workspaces use it; none: those of all.
    namespaces: Vec<String>,
    /// Has a run it alone, with one configuration?
    pub(crate) takes_turns: bool,
}

/// Where it listens, as people write it.
impl fmt::Display for Sidecar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.address {
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
            Address::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl Sidecar {
    /// The release it is, if that is told.
    pub fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    /// What stands for it where a plan pins its providers.
    pub fn pin(&self) -> String {
        let protocol = self.protocol();
        format!("sidecar:{self}#{protocol}")
    }

    pub(crate) fn protocol(&self) -> u8 {
        match self.generation {
            Generation::Five => 5,
            Generation::Six => 6,
        }
    }

    /// May a workspace of this namespace use it?
    pub fn serves(&self, namespace: &str) -> bool {
        self.namespaces.is_empty() || self.namespaces.iter().any(|own| own == namespace)
    }

    /// Those that the operator's owner offers: an object with a member for each provider, which has `network` (`unix` or `tcp`),
    /// `address`, `protocol` (5 or 6), `version`, `namespaces` (all, if it is left out or empty), and `remote`, without which
    /// an address has to be one of this machine.
    pub fn offered(text: &str) -> Result<BTreeMap<Provider, Self>, String> {
        each(text, |entry| {
            let network = member(entry, "network")?;
            let address = address(&network, &member(entry, "address")?)?;
            let is_remote = matches!(&address, Address::Tcp(address) if !address.ip().is_loopback());
            if is_remote && entry.get("remote") != Some(&Json::Bool(true)) {
                return Err(
                    "its address is not one of this machine, where nothing on the way is encrypted; set remote to true to have \
                     it reached all the same"
                        .to_owned(),
                );
            }
            let version = member(entry, "version")?;
            let version = Version::from_str(&version)
                .map_err(|_| format!("its version {version:?} is none, as 3.9.0 would be"))?;
            let namespaces = match entry.get("namespaces") {
                None | Some(Json::Null) => Vec::new(),
                Some(Json::Array(names)) => names
                    .iter()
                    .map(|name| name.as_str().map(str::to_owned))
                    .collect::<Option<_>>()
                    .ok_or("its namespaces are not names")?,
                Some(_) => return Err("its namespaces are not a list".to_owned()),
            };
            Ok(Self {
                address,
                generation: generation(entry.get("protocol").and_then(Json::as_u64))?,
                version: Some(version),
                namespaces,
                takes_turns: true,
            })
        })
    }

    /// Those of Terraform's variable `TF_REATTACH_PROVIDERS`. Source: Terraform `internal/getproviders/reattach`, and
    /// `unmanagedProviderFactory`.
    pub fn of_variable(text: &str) -> Result<BTreeMap<Provider, Self>, String> {
        if text.is_empty() {
            return Ok(BTreeMap::new());
        }
        each(text, |entry| {
            if entry
                .get("Protocol")
                .and_then(Json::as_str)
                .is_some_and(|kind| kind != "grpc")
            {
                return Err("it speaks a protocol from before gRPC".to_owned());
            }
            let listens = entry.get("Addr").cloned().unwrap_or_default();
            // Who says no version is of an older kit, which spoke 5.
            let version = entry.get("ProtocolVersion").and_then(Json::as_u64);
            Ok(Self {
                address: address(&member(&listens, "Network")?, &member(&listens, "String")?)?,
                generation: generation(version.filter(|version| *version != 0).or(Some(5)))?,
                version: None,
                namespaces: Vec::new(),
                takes_turns: false,
            })
        })
    }
}

fn each(
    text: &str,
    read: impl Fn(&Json) -> Result<Sidecar, String>,
) -> Result<BTreeMap<Provider, Sidecar>, String> {
    let entries = match serde_json::from_str(text) {
        Ok(Json::Object(entries)) => entries,
        Ok(_) => return Err("it is not an object with a member for each provider".to_owned()),
        Err(error) => return Err(format!("it is no JSON: {error}")),
    };
    entries
        .iter()
        .map(|(name, entry)| {
            let provider =
                Provider::from_str(name).map_err(|_| format!("{name:?} is not a provider's address"))?;
            let sidecar = read(entry).map_err(|why| format!("of {provider}: {why}"))?;
            Ok((provider, sidecar))
        })
        .collect()
}

fn member(of: &Json, name: &str) -> Result<String, String> {
    let text = of
        .get(name)
        .and_then(Json::as_str)
        .filter(|text| !text.is_empty());
    text.map(str::to_owned)
        .ok_or_else(|| format!("its {name} is missing"))
}

fn address(network: &str, text: &str) -> Result<Address, String> {
    match network {
        "unix" => Ok(Address::Unix(PathBuf::from(text))),
        "tcp" => {
            let plain = match text.strip_prefix("localhost:") {
                Some(port) => format!("127.0.0.1:{port}"),
                None => text.to_owned(),
            };
            SocketAddr::from_str(&plain).map(Address::Tcp).map_err(|_| {
                format!("its address {text:?} is not an IP address with a port, as 127.0.0.1:5000")
            })
        }
        _ => Err(format!("its network {network:?} is neither unix nor tcp")),
    }
}

fn generation(version: Option<u64>) -> Result<Generation, String> {
    match version {
        Some(5) => Ok(Generation::Five),
        Some(6) => Ok(Generation::Six),
        Some(other) => Err(format!("its protocol {other} is neither 5 nor 6")),
        None => Err("its protocol is missing".to_owned()),
    }
}

/// Whose turn it is with each sidecar, for all runs of a process.
#[derive(Default)]
pub struct Turns(Mutex<BTreeMap<String, Arc<Turn<()>>>>);

/// The sidecars that a run has alone, until this is dropped.
pub struct Taken(
    #[cfg_attr(not(test), expect(dead_code, reason = "held, never looked at"))] Vec<OwnedMutexGuard<()>>,
);

impl Turns {
    /// Waits until all of these are free, and has them until what it gives is dropped. Every run takes them in the same order, so
    /// no two wait for each other.
    pub async fn take<'s>(&self, sidecars: impl Iterator<Item = &'s Sidecar>) -> Taken {
        let mut places: Vec<String> = sidecars
            .filter(|sidecar| sidecar.takes_turns)
            .map(ToString::to_string)
            .collect();
        places.sort();
        places.dedup();
        let mut taken = Vec::new();
        for place in places {
            let turn = {
                let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                turns.entry(place).or_default().clone()
            };
            taken.push(turn.lock_owned().await);
        }
        Taken(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(offered: &str, expected: Result<&str, &str>) {
        let got = Sidecar::offered(offered).map(|all| {
            let told = all
                .iter()
                .map(|(provider, sidecar)| format!("{provider} {}", sidecar.pin()));
            told.collect::<Vec<_>>().join("; ")
        });
        assert_eq!(got.as_deref().map_err(String::as_str), expected, "{offered}");
    }

    #[test]
    fn what_an_owner_offers() {
        check("{}", Ok(""));
        check(
            r#"{"hashicorp/random": {"network": "unix", "address": "/run/r.sock", "protocol": 5, "version": "3.9.0"}}"#,
            Ok("registry.terraform.io/hashicorp/random sidecar:unix:/run/r.sock#5"),
        );
        check(
            r#"{"a.test/b/c": {"network": "tcp", "address": "localhost:50", "protocol": 6, "version": "1.0.0"}}"#,
            Ok("a.test/b/c sidecar:tcp:127.0.0.1:50#6"),
        );
        let remote = r#"{"a.test/b/c": {"network": "tcp", "address": "10.0.0.1:50", "protocol": 6, "version": "1.0.0"}}"#;
        let refused = Sidecar::offered(remote).unwrap_err();
        assert!(refused.contains("set remote to true"), "{refused}");
        check(
            &remote.replace("}}", r#", "remote": true}}"#),
            Ok("a.test/b/c sidecar:tcp:10.0.0.1:50#6"),
        );
        check("[]", Err("it is not an object with a member for each provider"));
        let entry = |members: &str| format!(r#"{{"a.test/b/c": {{{members}}}}}"#);
        for (members, why) in [
            ("", "its network is missing"),
            (
                r#""network":"pipe","address":"x""#,
                "its network \"pipe\" is neither unix nor tcp",
            ),
            (
                r#""network":"tcp","address":"host:5""#,
                "its address \"host:5\" is not an IP address with a port, as 127.0.0.1:5000",
            ),
            (r#""network":"unix","address":"/x""#, "its version is missing"),
            (
                r#""network":"unix","address":"/x","version":"1.0.0""#,
                "its protocol is missing",
            ),
            (
                r#""network":"unix","address":"/x","version":"1.0.0","protocol":4"#,
                "its protocol 4 is neither 5 nor 6",
            ),
        ] {
            check(&entry(members), Err(&format!("of a.test/b/c: {why}")));
        }
    }

    #[test]
    fn namespaces_are_those_named_or_all() {
        let of = |namespaces: &str| {
            let text = format!(
                r#"{{"a.test/b/c": {{"network":"unix","address":"/x","version":"1.0.0","protocol":6,"namespaces":{namespaces}}}}}"#
            );
            Sidecar::offered(&text).map(|all| all.into_values().next().unwrap())
        };
        let some = of(r#"["a", "b"]"#).unwrap();
        assert!(some.serves("a") && some.serves("b") && !some.serves("c"));
        assert!(of("[]").unwrap().serves("c"));
        assert!(of(r#""a""#).is_err() && of("[1]").is_err());
    }

    #[test]
    fn terraform_s_variable() {
        let text = r#"{"random": {"Protocol": "grpc", "ProtocolVersion": 0, "Pid": 5, "Test": true,
            "Addr": {"Network": "unix", "String": "/tmp/p"}}}"#;
        let all = Sidecar::of_variable(text).unwrap();
        let (provider, sidecar) = all.iter().next().unwrap();
        assert_eq!(provider.to_string(), "registry.terraform.io/hashicorp/random");
        assert_eq!(sidecar.pin(), "sidecar:unix:/tmp/p#5");
        assert!(sidecar.version().is_none() && !sidecar.takes_turns);
        assert!(Sidecar::of_variable("").unwrap().is_empty());
        let newer = Sidecar::of_variable(&text.replace(": 0", ": 7")).unwrap_err();
        assert!(newer.contains("its protocol 7 is neither 5 nor 6"), "{newer}");
        assert!(Sidecar::of_variable(&text.replace("grpc", "netrpc")).is_err());
        assert!(
            Sidecar::of_variable("{")
                .unwrap_err()
                .starts_with("it is no JSON")
        );
    }

    #[tokio::test]
    async fn runs_take_turns() {
        let sidecar = |path: &str| Sidecar {
            address: Address::Unix(path.into()),
            generation: Generation::Six,
            version: None,
            namespaces: Vec::new(),
            takes_turns: true,
        };
        let turns = Turns::default();
        let (a, b) = (sidecar("/a"), sidecar("/b"));
        let first = turns.take([&a, &b, &a].into_iter()).await;
        assert_eq!(first.0.len(), 2);
        let second = turns.take([&b, &a].into_iter());
        tokio::pin!(second);
        let soon = std::time::Duration::from_millis(20);
        assert!(tokio::time::timeout(soon, &mut second).await.is_err());
        drop(first);
        assert_eq!(second.await.0.len(), 2);
        let free = Sidecar {
            takes_turns: false,
            ..a.clone()
        };
        assert!(turns.take(std::iter::once(&free)).await.0.is_empty());
    }
}
