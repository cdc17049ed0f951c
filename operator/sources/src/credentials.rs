//! Who asks: what a server wants to be shown. None of it is ever told: neither by `Debug` nor in an error.

use std::{collections::BTreeMap, fmt, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};

use crate::{address::Address, fault::Fault};

/// What is shown to one place, and what it must show. Empty for a public one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// For HTTP Basic, and for SSH where no key is given.
    pub username: Option<String>,
    /// See there; with a key it is the key's passphrase.
    pub password: Option<String>,
    /// For `Authorization: Bearer`.
    pub bearer_token: Option<String>,
    /// A private key for SSH, in PEM.
    pub identity: Option<String>,
    /// Keys of SSH servers, in the form of OpenSSH's `known_hosts`.
    pub known_hosts: Option<String>,
    /// Accounts at OCI registries, in Docker's form, by host.
    pub registries: BTreeMap<String, (String, String)>,
    /// Certificate authorities to trust beside the public ones, in PEM.
    pub authorities: Option<Vec<u8>>,
    /// For S3: access key, secret key, and the token of a session.
    pub access_key: Option<(String, String, Option<String>)>,
    /// For Google's storage: a service account's key, in JSON.
    pub service_account: Option<String>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl Credentials {
    /// Reads the data of a Secret, with Flux's keys: `username`, `password`, `bearerToken`, `identity`, `known_hosts`,
    /// `.dockerconfigjson`, `ca.crt` or `caFile`, `accesskey`, `secretkey`, `sessiontoken`, `serviceaccount`. Other keys are
    /// left aside.
    pub fn from_secret(data: &BTreeMap<String, Vec<u8>>) -> Result<Self, Fault> {
        let text = |key: &str| -> Result<Option<String>, Fault> {
            let Some(bytes) = data.get(key) else {
                return Ok(None);
            };
            let text = std::str::from_utf8(bytes)
                .map_err(|_| Fault::asked(format!("{key} in the Secret is not UTF-8 text.")))?;
            Ok(Some(text.to_owned()).filter(|text| !text.is_empty()))
        };
        // A line break at the end comes of `--from-file`.
        let line =
            |key: &str| text(key).map(|text| text.map(|text| text.trim_end_matches(['\r', '\n']).to_owned()));
        let registries = match text(".dockerconfigjson")? {
            Some(json) => docker_config(&json)?,
            None => BTreeMap::new(),
        };
        let access_key = match (line("accesskey")?, line("secretkey")?) {
            (Some(key), Some(secret)) => Some((key, secret, line("sessiontoken")?)),
            (None, None) => None,
            _ => {
                return Err(Fault::asked(
                    "The Secret has one of accesskey and secretkey; both are needed.",
                ));
            }
        };
        Ok(Self {
            username: line("username")?,
            password: line("password")?,
            bearer_token: line("bearerToken")?,
            identity: text("identity")?,
            known_hosts: text("known_hosts")?,
            registries,
            authorities: data.get("ca.crt").or_else(|| data.get("caFile")).cloned(),
            access_key,
            service_account: text("serviceaccount")?,
        })
    }

    /// A token alone.
    pub fn bearer(token: impl Into<String>) -> Self {
        Self {
            bearer_token: Some(token.into()),
            ..Self::default()
        }
    }

    /// An account alone.
    pub fn account(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            username: Some(username.into()),
            password: Some(password.into()),
            ..Self::default()
        }
    }

    /// The value of an `Authorization` header.
    pub(crate) fn authorization(&self) -> Option<String> {
        if let Some(token) = &self.bearer_token {
            return Some(format!("Bearer {token}"));
        }
        let (username, password) = (self.username.as_deref(), self.password.as_deref());
        if username.is_none() && (password.is_none() || self.identity.is_some()) {
            return None;
        }
        let account = format!(
            "{}:{}",
            username.unwrap_or_default(),
            password.unwrap_or_default()
        );
        Some(format!("Basic {}", STANDARD.encode(account)))
    }

    /// What an address itself carries wins over what is given for it, as with git and curl.
    pub(crate) fn with_account_of(&self, address: &Address) -> Self {
        let mut all = self.clone();
        if address.password.is_some() {
            all.bearer_token = None;
            all.username.clone_from(&address.user);
            all.password.clone_from(&address.password);
        } else if address.user.is_some() {
            all.username.clone_from(&address.user);
        }
        all
    }
}

/// How one registry is called that has several names.
pub(crate) const DOCKER_HUB: &str = "docker.io";

/// A registry by the one name that it has here.
pub(crate) fn registry_host(host: &str) -> String {
    match &*host.to_ascii_lowercase() {
        "index.docker.io" | "registry-1.docker.io" => DOCKER_HUB.to_owned(),
        host => host.to_owned(),
    }
}

/// The accounts in Docker's configuration.
fn docker_config(json: &str) -> Result<BTreeMap<String, (String, String)>, Fault> {
    // Parse errors would tell parts of it.
    let malformed = || Fault::asked(".dockerconfigjson is not a Docker configuration: JSON with `auths`.");
    let config: serde_json::Value = serde_json::from_str(json).map_err(|_| malformed())?;
    let auths = config
        .get("auths")
        .and_then(|auths| auths.as_object())
        .ok_or_else(malformed)?;
    let mut accounts = BTreeMap::new();
    for (host, auth) in auths {
        let part = |key: &str| auth.get(key).and_then(|value| value.as_str()).map(str::to_owned);
        let account = match (part("username"), part("password"), part("auth")) {
            (Some(username), Some(password), _) => (username, password),
            (_, _, Some(text)) if !text.trim().is_empty() => {
                let bytes = STANDARD.decode(text.trim()).ok();
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
                let account = text.as_deref().and_then(|text| text.split_once(':'));
                let (username, password) = account.ok_or_else(malformed)?;
                (username.to_owned(), password.to_owned())
            }
            // Docker leaves such an entry where a helper keeps the account.
            _ => continue,
        };
        let host = host.trim_start_matches("https://").trim_start_matches("http://");
        let host = host.split('/').next().unwrap_or(host);
        accounts.insert(registry_host(host), account);
    }
    Ok(accounts)
}

/// Credentials for module downloads, by host.
#[derive(Clone, Default)]
pub struct Keyring {
    entries: Vec<Entry>,
    fallback: Option<Arc<Fallback>>,
    tokens: Option<Arc<Fallback>>,
    services: Arc<BTreeMap<String, BTreeMap<String, String>>>,
}

/// Knows credentials for hosts that no entry is for.
type Fallback = dyn Fn(&str) -> Option<Credentials> + Send + Sync;

#[derive(Clone)]
struct Entry {
    host: String,
    prefix: String,
    credentials: Credentials,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keyring(..)")
    }
}

impl Keyring {
    /// Adds credentials for `HOST[:PORT][/PATH]`: with a path only for what lies below it. Without a port they are for HTTPS
    /// and SSH at their usual ports; with one for whatever is spoken there, encrypted or not.
    pub fn add(&mut self, place: &str, credentials: Credentials) {
        let (host, prefix) = place.split_once('/').unwrap_or((place, ""));
        self.entries.push(Entry {
            host: host.to_ascii_lowercase(),
            prefix: prefix.trim_end_matches('/').to_owned(),
            credentials,
        });
    }

    /// Where to ask for hosts that no entry is for; with `HOST[:PORT]`.
    pub fn with_fallback(
        mut self,
        fallback: impl Fn(&str) -> Option<Credentials> + Send + Sync + 'static,
    ) -> Self {
        self.fallback = Some(Arc::new(fallback));
        self
    }

    /// Where to ask for a registry's token that no entry is for; with `HOST[:PORT]`. Nothing but the registry itself is shown
    /// it.
    pub fn with_tokens(mut self, tokens: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.tokens = Some(Arc::new(move |host| tokens(host).map(Credentials::bearer)));
        self
    }

    /// What a person says of hosts: the addresses of their services. Those hosts are not asked for it.
    pub fn with_services(mut self, services: BTreeMap<String, BTreeMap<String, String>>) -> Self {
        self.services = Arc::new(services);
        self
    }

    pub(crate) fn services_of(&self, host: &str) -> Option<&BTreeMap<String, String>> {
        self.services.get(host)
    }

    /// Those for HTTPS at `HOST[:PORT]`.
    pub fn for_host(&self, host: &str) -> Credentials {
        Address::parse(&format!("https://{host}/"))
            .map_or_else(|_| Credentials::default(), |address| self.of(&address))
    }

    /// Those for a registry's host.
    pub(crate) fn of_registry(&self, address: &Address) -> Credentials {
        let found = self.of(address);
        if address.scheme != "https" || found.authorization().is_some() {
            return found;
        }
        let token = self
            .tokens
            .as_ref()
            .and_then(|tokens| tokens(&address.host_and_port()));
        Credentials {
            bearer_token: token.and_then(|token| token.bearer_token),
            ..found
        }
    }

    /// Those for an address: of the longest path that it lies below.
    pub(crate) fn of(&self, address: &Address) -> Credentials {
        let usual = matches!((&*address.scheme, address.port()), ("https", 443) | ("ssh", 22));
        let with_port = format!("{}:{}", address.host, address.port());
        let host = if usual { &address.host } else { &with_port };
        let matching = self.entries.iter().filter(|entry| {
            let path = address.path.trim_start_matches('/');
            let below = path.strip_prefix(&*entry.prefix).is_some_and(|rest| {
                entry.prefix.is_empty() || rest.is_empty() || rest.starts_with(['/', '.'])
            });
            let here = entry.host == *host || entry.host == with_port;
            here && below
        });
        matching
            .max_by_key(|entry| entry.prefix.len())
            .map(|entry| entry.credentials.clone())
            .or_else(|| self.fallback.as_ref().and_then(|fallback| fallback(host)))
            .unwrap_or_default()
    }
}

/// Who is asked for credentials while a fetch goes from address to address: nothing but what is for that very place.
#[derive(Clone)]
pub(crate) enum Wallet {
    /// One place's: for its scheme, host and port alone.
    Place(crate::address::Origin, Box<Credentials>),
    /// Many places'.
    Ring(Keyring),
}

impl Wallet {
    /// One place's.
    pub(crate) fn place(address: &Address, credentials: Credentials) -> Self {
        Self::Place(address.origin(), Box::new(credentials))
    }

    pub(crate) fn of(&self, address: &Address) -> Credentials {
        match self {
            Self::Place(origin, credentials) if *origin == address.origin() => (**credentials).clone(),
            // Whom to trust is no secret.
            Self::Place(_, credentials) => Credentials {
                authorities: credentials.authorities.clone(),
                known_hosts: credentials.known_hosts.clone(),
                ..Credentials::default()
            },
            Self::Ring(ring) => ring.of(address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(pairs: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), value.as_bytes().to_vec());
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn secrets_are_read_as_flux_reads_them() {
        let check = |pairs: &[(&str, &str)], want: Option<&str>| {
            let got = Credentials::from_secret(&data(pairs)).unwrap();
            assert_eq!(got.authorization().as_deref(), want);
            assert_eq!(format!("{got:?}"), "Credentials(..)");
        };
        check(&[], None);
        check(&[("username", "u"), ("password", "p\n")], Some("Basic dTpw"));
        check(&[("bearerToken", "t")], Some("Bearer t"));
        // The passphrase of a key is for no server.
        check(&[("identity", "k"), ("password", "p")], None);
        let json = r#"{"auths":{"https://r.test/v1/":{"auth":"dTpw"},"s.test:5000":{"username":"a","password":"b"},"helped.test":{},
            "https://index.docker.io/v1/":{"auth":"dTpw"}}}"#;
        let got = Credentials::from_secret(&data(&[(".dockerconfigjson", json)])).unwrap();
        assert_eq!(got.registries["r.test"], ("u".to_owned(), "p".to_owned()));
        assert_eq!(got.registries.len(), 3);
        for name in ["docker.io", "index.docker.io", "Registry-1.docker.io"] {
            assert!(got.registries.contains_key(&registry_host(name)), "{name}");
        }
        assert_eq!(got.registries["s.test:5000"], ("a".to_owned(), "b".to_owned()));
        for pairs in [&[(".dockerconfigjson", "s3cret")][..], &[("accesskey", "s3cret")]] {
            let fault = Credentials::from_secret(&data(pairs)).unwrap_err();
            assert!(!fault.text.contains("s3cret"), "{fault}");
        }
    }

    #[test]
    fn credentials_are_for_their_host_and_path() {
        let mut ring = Keyring::default();
        ring.add("forge.test", Credentials::bearer("all"));
        ring.add("forge.test/team/", Credentials::bearer("team"));
        ring.add("other.test:8443", Credentials::bearer("port"));
        let ring = ring.with_fallback(|host| (host == "env.test").then(|| Credentials::bearer("env")));
        let check = |address: &str, want: Option<&str>| {
            let got = ring.of(&Address::parse(address).unwrap());
            assert_eq!(got.bearer_token.as_deref(), want, "{address}");
        };
        check("https://forge.test/x", Some("all"));
        check("https://Forge.test:443/team/x.git", Some("team"));
        check("https://forge.test/team", Some("team"));
        check("https://forge.test/team.git", Some("team"));
        check("https://forge.test/teams/x", Some("all"));
        check("https://forge.test:8443/x", None);
        check("https://other.test/x", None);
        check("https://other.test:8443/x", Some("port"));
        check("https://env.test/", Some("env"));
        check("ssh://git@forge.test/x", Some("all"));
        check("http://forge.test/x", None);
        check("http://other.test:8443/x", Some("port"));
        let place = Wallet::place(
            &Address::parse("https://a.test/").unwrap(),
            Credentials::bearer("t"),
        );
        let of = |address: &str| place.of(&Address::parse(address).unwrap()).bearer_token;
        assert_eq!(of("https://a.test:443/b").as_deref(), Some("t"));
        assert_eq!(of("http://a.test/b"), None);
        assert_eq!(of("https://a.test:8443/b"), None);
    }
}
