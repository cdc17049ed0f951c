//! Google's storage, by its JSON interface: as whoever a token or a service account says, or as nobody.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{Method, header};
use jiff::Timestamp;
use rsa::{
    PrivateKey,
    pkcs1v15::SigningKey,
    pkcs8::DecodePrivateKey,
    signature::{SignatureEncoding, Signer},
};
use serde::Deserialize;

use crate::{
    address::{Address, encode},
    bucket::split,
    credentials::{Credentials, Wallet},
    fault::Fault,
    http::{Answer, Ask},
    package::Package,
};

/// Where Google's own addresses are asked.
const HOST: &str = "storage.googleapis.com";
const READ: &str = "https://www.googleapis.com/auth/devstorage.read_only";

/// A bucket and what is meant in it.
pub(crate) struct Bucket {
    endpoint: Address,
    pub(crate) name: String,
    pub(crate) key: String,
    wallet: Wallet,
}

impl Bucket {
    /// Reads an address, `https://www.googleapis.com/storage/v1/BUCKET/KEY`; with the kind of archive that it names.
    pub(crate) async fn open(
        package: &Package<'_>,
        mut address: Address,
    ) -> Result<(Self, Option<String>), Fault> {
        let credentials = package.ring.of(&address);
        let archive = address.take_parameter("archive");
        let parts = split(&address.path, 4);
        let [service, version, name, key] = &*parts else {
            return Err(malformed(&address));
        };
        if service != "storage" || version != "v1" || name.is_empty() {
            return Err(malformed(&address));
        }
        let host = if address.host.ends_with(".googleapis.com") {
            HOST.to_owned()
        } else {
            address.host.clone()
        };
        let endpoint = Address {
            host,
            path: "/".to_owned(),
            query: None,
            user: None,
            password: None,
            ..address.clone()
        };
        let token = match (&credentials.bearer_token, &credentials.service_account) {
            (Some(token), _) => Some(token.clone()),
            (None, Some(account)) => Some(token_of(package, account, &credentials).await?),
            (None, None) => None,
        };
        let shown = Credentials {
            bearer_token: token,
            authorities: credentials.authorities,
            ..Credentials::default()
        };
        let bucket = Self {
            wallet: Wallet::place(&endpoint, shown),
            endpoint,
            name: name.clone(),
            key: key.clone(),
        };
        Ok((bucket, archive))
    }

    pub(crate) async fn get(&self, package: &Package<'_>, key: &str) -> Result<Answer, Fault> {
        let path = format!("/storage/v1/b/{}/o/{}", encode(&self.name), encode(key));
        self.ask(package, path, "alt=media".to_owned()).await
    }

    pub(crate) async fn page(
        &self,
        package: &Package<'_>,
        prefix: &str,
        next: Option<&str>,
    ) -> Result<Answer, Fault> {
        let mut query = format!("prefix={}", encode(prefix));
        if let Some(next) = next {
            query.push_str(&format!("&pageToken={}", encode(next)));
        }
        let path = format!("/storage/v1/b/{}/o", encode(&self.name));
        self.ask(package, path, query).await
    }

    async fn ask(&self, package: &Package<'_>, path: String, query: String) -> Result<Answer, Fault> {
        let address = Address {
            path,
            query: Some(query),
            ..self.endpoint.clone()
        };
        let ask = Ask::get(package.deadline);
        package.fetcher.web.send(&address, &self.wallet, ask).await
    }
}

fn malformed(address: &Address) -> Fault {
    Fault::asked(format!(
        "{address} is no address in Google's storage, such as https://www.googleapis.com/storage/v1/BUCKET/KEY."
    ))
}

/// The names in a list of objects, and where it goes on.
pub(crate) fn read_page(body: &[u8]) -> Result<(Vec<String>, Option<String>), Fault> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Page {
        #[serde(default)]
        items: Vec<Item>,
        next_page_token: Option<String>,
    }
    #[derive(Deserialize)]
    struct Item {
        name: String,
    }
    let page: Page = serde_json::from_slice(body)
        .map_err(|_| Fault::refused("Google's storage sent a list that cannot be read."))?;
    Ok((
        page.items.into_iter().map(|item| item.name).collect(),
        page.next_page_token,
    ))
}

/// A token for a service account: its own signature for one of Google's.
async fn token_of(package: &Package<'_>, account: &str, credentials: &Credentials) -> Result<String, Fault> {
    #[derive(Deserialize)]
    struct Account {
        client_email: String,
        private_key: String,
        token_uri: String,
    }
    #[derive(Deserialize)]
    struct Token {
        access_token: String,
    }
    // Never with what the parser says: that may be of the key.
    let malformed = || {
        Fault::asked("The service account for Google's storage (serviceaccount) is no key of one, in JSON.")
    };
    let account: Account = serde_json::from_str(account).map_err(|_| malformed())?;
    let key = PrivateKey::from_pkcs8_der(&der(&account.private_key).ok_or_else(malformed)?)
        .map_err(|_| malformed())?;
    let now = Timestamp::now().as_second();
    let claims = serde_json::json!({
        "iss": account.client_email, "scope": READ, "aud": account.token_uri, "iat": now, "exp": now + 600,
    });
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let signed = format!(
        "{}.{}",
        part(r#"{"alg":"RS256","typ":"JWT"}"#.to_owned()),
        part(claims.to_string())
    );
    let signature = SigningKey::<rsa::sha2::Sha256>::new(key)
        .try_sign(signed.as_bytes())
        .map_err(|_| malformed())?;
    let assertion = format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature.to_bytes()));
    let place = Address::parse(&account.token_uri)?;
    let mut ask = Ask::get(package.deadline).with(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    ask.method = Method::POST;
    let grant = encode("urn:ietf:params:oauth:grant-type:jwt-bearer");
    ask.body = Bytes::from(format!("grant_type={grant}&assertion={assertion}"));
    let wallet = Wallet::place(
        &place,
        Credentials {
            authorities: credentials.authorities.clone(),
            ..Credentials::default()
        },
    );
    let mut answer = package.fetcher.web.send_once(&place, &wallet, &ask).await?;
    if !answer.status.is_success() {
        return Err(answer.failure());
    }
    let token = serde_json::from_slice::<Token>(&answer.small(1 << 20).await?);
    token
        .map(|token| token.access_token)
        .map_err(|_| Fault::denied(format!("{place} gives no token.")))
}

fn der(pem: &str) -> Option<Vec<u8>> {
    use base64::engine::general_purpose::STANDARD;
    let (_, rest) = pem.split_once("-----BEGIN PRIVATE KEY-----")?;
    let (body, _) = rest.split_once("-----END")?;
    STANDARD.decode(body.split_whitespace().collect::<String>()).ok()
}
