//! A server that speaks the protocols of registries and network mirrors, with one provider, and whatever is wrong with it.

use std::{
    collections::BTreeMap,
    io::{Cursor, Write},
    sync::{Arc, Mutex},
};

use ashlar_addr::Provider;
use ashlar_install::{Cache, Installation, Installer, Location, Method, Notice, Platform};
use ashlar_sources::{Client, Credentials, Keyring, Limits, Reach};
use pgp::{
    composed::{Deserializable, DetachedSignature, SignedSecretKey},
    crypto::hash::HashAlgorithm,
    packet::{SignatureConfig, SignatureType, Subpacket, SubpacketData},
    ser::Serialize,
    types::{KeyDetails, Password, Timestamp},
};
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use zip::{ZipWriter, write::SimpleFileOptions};

use crate::server::{Answer, Asked, Server, answer, redirect, with};

/// Made by GnuPG.
const KEY: &str = include_str!("../keys/other.asc");
const SECRET: &str = include_str!("../keys/other.secret.asc");

/// What the server has. Tests spoil it.
#[derive(Default)]
pub(crate) struct Site {
    /// By path: what is there. JSON by its name.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// By path: what is answered first, in this order, instead.
    pub(crate) first: BTreeMap<String, Vec<(u16, Option<&'static str>)>>,
    /// By path: where it redirects to.
    pub(crate) redirects: BTreeMap<String, String>,
    /// Without it nothing is shown.
    pub(crate) token: Option<String>,
}

impl Site {
    fn answer(&mut self, asked: &Asked) -> Answer {
        if let Some((status, wait)) = self
            .first
            .get_mut(&asked.path)
            .filter(|first| !first.is_empty())
            .map(|first| first.remove(0))
        {
            let answer = answer(status, "not now");
            return match wait {
                Some(wait) => with(answer, "retry-after", wait),
                None => answer,
            };
        }
        let guarded = self.token.as_ref().is_some_and(|_| asked.path.starts_with("/p/"));
        if guarded && asked.header("authorization") != self.token.as_deref() {
            return answer(401, "who are you");
        }
        if let Some(to) = self.redirects.get(&asked.path) {
            return redirect(to);
        }
        match self.files.get(&asked.path) {
            Some(body) if asked.path.ends_with(".zip") || asked.path.contains("SHA256SUMS") => {
                answer(200, body.clone())
            }
            Some(body) => with(answer(200, body.clone()), "content-type", "application/json"),
            None => answer(404, "no such thing"),
        }
    }

    /// Replaces a part of a file.
    pub(crate) fn edit(&mut self, path: &str, from: &str, to: &str) {
        let body = self.files.get_mut(path).unwrap();
        let text = String::from_utf8(body.clone()).unwrap();
        assert!(text.contains(from), "{text}");
        *body = text.replace(from, to).into_bytes();
    }
}

/// A server with a registry and a mirror, and a cache of one's own.
pub(crate) struct World {
    pub(crate) root: TempDir,
    pub(crate) server: Server,
    pub(crate) site: Arc<Mutex<Site>>,
    pub(crate) provider: Provider,
    pub(crate) authority: Vec<u8>,
}

/// A provider's archive, always the same bytes.
pub(crate) fn package(content: &str) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    writer.start_file("terraform-provider-kiln_v1", options).unwrap();
    writer.write_all(content.as_bytes()).unwrap();
    writer.finish().unwrap().into_inner()
}

pub(crate) fn sum(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// A signature, as whoever publishes a provider makes it.
pub(crate) fn sign(list: &[u8]) -> Vec<u8> {
    let (key, _) = SignedSecretKey::from_string(SECRET).unwrap();
    let key = &key.primary_key;
    let mut config = SignatureConfig::v4(SignatureType::Binary, key.algorithm(), HashAlgorithm::Sha256);
    let regular = |data| Subpacket::regular(data).unwrap();
    config.hashed_subpackets = vec![
        regular(SubpacketData::IssuerFingerprint(key.fingerprint())),
        regular(SubpacketData::SignatureCreationTime(Timestamp::from_secs(
            1_700_000_000,
        ))),
    ];
    config.unhashed_subpackets = vec![regular(SubpacketData::IssuerKeyId(key.legacy_key_id()))];
    let signature = config.sign(key, &Password::empty(), list).unwrap();
    DetachedSignature::new(signature).to_bytes().unwrap()
}

impl World {
    /// With versions 1.0.0 and 1.1.0 of `localhost:PORT/studio/kiln`.
    pub(crate) async fn new() -> Self {
        let site = Arc::new(Mutex::new(Site::default()));
        let shared = site.clone();
        let (server, authority) = Server::start_tls(move |asked| shared.lock().unwrap().answer(asked)).await;
        let provider: Provider = format!("{}/studio/kiln", server.host()).parse().unwrap();
        let world = Self {
            root: tempfile::tempdir().unwrap(),
            server,
            site,
            provider,
            authority,
        };
        world.publish();
        world
    }

    fn publish(&self) {
        let mut site = self.site.lock().unwrap();
        let mut put = |path: &str, body: Vec<u8>| drop(site.files.insert(path.to_owned(), body));
        let put_json = |put: &mut dyn FnMut(&str, Vec<u8>), path: &str, body: serde_json::Value| {
            put(path, body.to_string().into_bytes());
        };
        let here = Platform::here();
        put_json(
            &mut put,
            "/.well-known/terraform.json",
            json!({"providers.v1": "/p/"}),
        );
        put_json(
            &mut put,
            "/p/studio/kiln/versions",
            json!({"versions": [
                {"version": "1.0.0", "protocols": ["5.0"], "platforms": []},
                {"version": "1.1.0", "protocols": ["5.0"], "platforms": []},
            ]}),
        );
        let mirror = format!("/m/{}/studio/kiln", self.server.host());
        put_json(
            &mut put,
            &format!("{mirror}/index.json"),
            json!({"versions": {"1.0.0": {}, "1.1.0": {}}}),
        );
        for version in ["1.0.0", "1.1.0"] {
            let zip = package(version);
            let name = format!("terraform-provider-kiln_{version}_{here}.zip");
            let list = format!(
                "{}  {name}\n{}  terraform-provider-kiln_{version}_plan9_mips.zip\n",
                sum(&zip),
                sum(b"other")
            );
            put_json(
                &mut put,
                &format!("/p/studio/kiln/{version}/download/{}/{}", here.os, here.arch),
                json!({
                    "protocols": ["5.0"], "os": here.os, "arch": here.arch, "filename": name,
                    "download_url": format!("/files/{name}"), "shasum": sum(&zip),
                    "shasums_url": format!("/files/{version}_SHA256SUMS"),
                    "shasums_signature_url": format!("/files/{version}_SHA256SUMS.sig"),
                    "signing_keys": {"gpg_public_keys": [{"key_id": "X", "ascii_armor": KEY, "trust_signature": ""}]},
                }),
            );
            put_json(
                &mut put,
                &format!("{mirror}/{version}.json"),
                json!({"archives": {here.to_string(): {"url": format!("../../../../files/{name}"), "hashes": [format!("zh:{}", sum(&zip))]}}}),
            );
            put(&format!("/files/{version}_SHA256SUMS.sig"), sign(list.as_bytes()));
            put(&format!("/files/{version}_SHA256SUMS"), list.into_bytes());
            put(&format!("/files/{name}"), zip);
        }
    }

    /// Spoils what the server has.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Site)) {
        change(&mut self.site.lock().unwrap());
    }

    /// Where the package of a version is.
    pub(crate) fn zip(version: &str) -> String {
        format!(
            "/files/terraform-provider-kiln_{version}_{}.zip",
            Platform::here()
        )
    }

    /// Where the registry tells of the package of a version.
    pub(crate) fn told(version: &str) -> String {
        let here = Platform::here();
        format!("/p/studio/kiln/{version}/download/{}/{}", here.os, here.arch)
    }

    pub(crate) fn mirror(&self) -> String {
        self.server.url("/m/")
    }

    pub(crate) fn cache(&self) -> Cache {
        Cache::new(self.root.path().join("cache"), Cache::USUAL_BYTES)
    }

    fn client(&self, token: Option<&str>) -> Client {
        let mut ring = Keyring::default();
        let trusting = Credentials {
            authorities: Some(self.authority.clone()),
            ..Credentials::default()
        };
        ring.add(&self.server.host(), trusting);
        let token = token.map(str::to_owned);
        let ring = ring.with_tokens(move |_| token.clone());
        let reach = Reach::guarded(
            ["127.0.0.0/8", "::1/128"]
                .map(|network| network.parse().unwrap())
                .to_vec(),
        );
        Client::new(Limits::default(), reach, ring).unwrap()
    }

    pub(crate) fn installer_of(&self, methods: Vec<Method>, token: Option<&str>) -> Installer {
        let installation = Installation {
            methods,
            ..Installation::default()
        };
        Installer::new(installation, self.cache(), Some(self.client(token)))
    }

    /// From the registry.
    pub(crate) fn direct(&self) -> Installer {
        self.installer_of(vec![Method::of(Location::Direct)], None)
    }

    /// From the mirror.
    pub(crate) fn mirrored(&self) -> Installer {
        self.installer_of(vec![Method::of(Location::Network(self.mirror()))], None)
    }

    /// How often something was asked for.
    pub(crate) fn times(&self, path: &str) -> usize {
        self.server
            .asked()
            .iter()
            .filter(|asked| asked.path == path)
            .count()
    }

    /// The packages in the cache, and what is left of others.
    pub(crate) fn kept(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.root.path().join("cache")) else {
            return Vec::new();
        };
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names
            .filter(|name| !name.ends_with(".use") && name != "known")
            .collect();
        names.sort();
        names
    }
}

/// Notices as they came.
pub(crate) fn noting(installer: Installer) -> (Installer, Arc<Mutex<Vec<Notice>>>) {
    let notes = Arc::new(Mutex::new(Vec::new()));
    let own = notes.clone();
    (
        installer.telling(move |notice| own.lock().unwrap().push(notice)),
        notes,
    )
}
