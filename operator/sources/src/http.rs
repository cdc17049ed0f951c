//! HTTP as all fetching uses it: addresses are checked after names are resolved, redirects are followed one by one with
//! the credentials that are for each address, and nothing is read without an end.

use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::Client,
    rt::{TokioExecutor, TokioIo},
};
use rustls::{ClientConfig, RootCertStore, pki_types::CertificateDer, pki_types::pem::PemObject};
use tokio::net::TcpStream;

use crate::{
    address::Address,
    credentials::Wallet,
    fault::{Fault, FaultKind, chain},
    limits::{Limits, bytes},
    reach::Reach,
    tree::too_slow,
};

/// Time to connect to one address.
const CONNECT: Duration = Duration::from_secs(15);

/// Time for the rest of an answer that nobody needs.
const DRAIN: Duration = Duration::from_secs(1);

/// An HTTP client.
#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) reach: Reach,
    pub(crate) limits: Limits,
    client: HttpClient,
    roots: Arc<RootCertStore>,
}

type HttpClient = Client<HttpsConnector<Connector>, Full<Bytes>>;

/// What is asked of a server.
pub(crate) struct Ask {
    pub(crate) method: Method,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Until when all of it must be done.
    pub(crate) deadline: Instant,
}

/// What a server answers.
pub(crate) struct Answer {
    /// Where it came from in the end.
    pub(crate) address: Address,
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    deadline: Instant,
    limits: Limits,
}

impl Ask {
    pub(crate) fn get(deadline: Instant) -> Self {
        Self {
            method: Method::GET,
            headers: HeaderMap::new(),
            body: Bytes::new(),
            deadline,
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }
}

impl Web {
    pub(crate) fn new(reach: Reach, limits: Limits) -> Result<Self, Fault> {
        let mut roots = RootCertStore::empty();
        let found = rustls_native_certs::load_native_certs();
        for error in found.errors {
            tracing::warn!(%error, "some of this machine's certificate authorities could not be read");
        }
        roots.add_parsable_certificates(found.certs);
        let client = client(&reach, roots.clone())?;
        Ok(Self {
            reach,
            limits,
            client,
            roots: Arc::new(roots),
        })
    }

    /// Sends a request, following redirects. Any status but a redirect's is an answer.
    pub(crate) async fn send(&self, address: &Address, wallet: &Wallet, ask: Ask) -> Result<Answer, Fault> {
        let mut address = address.clone();
        for _ in 0..=self.limits.redirects {
            let mut answer = self.send_once(&address, wallet, &ask).await?;
            let followed = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
            if !followed || ask.method != Method::GET {
                return Ok(answer);
            }
            let place = answer
                .headers
                .get(header::LOCATION)
                .and_then(|place| place.to_str().ok());
            let Some(place) = place else { return Ok(answer) };
            let next = address.join(place)?;
            if address.scheme == "https" && next.scheme != "https" {
                return Err(Fault::refused(format!(
                    "{address} redirects to {next}, which is not encrypted; that is not followed."
                )));
            }
            // What is left of the answer is read, so that the connection can serve again; not if it takes long.
            let _ = tokio::time::timeout(DRAIN, answer.small(64 << 10)).await;
            address = next;
        }
        let limit = self.limits.redirects;
        Err(Fault::refused(format!(
            "{address} redirects more than {limit} times, which is the limit."
        )))
    }

    /// Sends a request, and does not follow redirects.
    pub(crate) async fn send_once(
        &self,
        address: &Address,
        wallet: &Wallet,
        ask: &Ask,
    ) -> Result<Answer, Fault> {
        if !matches!(&*address.scheme, "http" | "https") {
            return Err(Fault::asked(format!(
                "{address} is fetched neither by HTTP nor by HTTPS."
            )));
        }
        let uri: Uri = address
            .without_account()
            .parse()
            .map_err(|_| Fault::asked(format!("{address} is not a sound address.")))?;
        let credentials = wallet.of(address).with_account_of(address);
        let mut request = Request::builder().method(ask.method.clone()).uri(uri);
        if let Some(headers) = request.headers_mut() {
            *headers = ask.headers.clone();
            headers
                .entry(header::USER_AGENT)
                .or_insert(HeaderValue::from_static("ashlar"));
            if !headers.contains_key(header::AUTHORIZATION)
                && let Some(value) = credentials.authorization()
            {
                let mut value = HeaderValue::from_str(&value)
                    .map_err(|_| Fault::asked("A credential has a character that cannot be sent."))?;
                value.set_sensitive(true);
                headers.insert(header::AUTHORIZATION, value);
            }
        }
        let request = request
            .body(Full::new(ask.body.clone()))
            .map_err(|_| Fault::asked(format!("{address} is not a sound address.")))?;
        let special = match &credentials.authorities {
            Some(pem) => Some(self.trusting(pem)?),
            None => None,
        };
        let client = special.as_ref().unwrap_or(&self.client);
        let left = ask.deadline.saturating_duration_since(Instant::now());
        let answer = tokio::time::timeout(left, client.request(request))
            .await
            .map_err(|_| too_slow(&self.limits))?
            .map_err(|error| failed(address, &error))?;
        let (head, body) = answer.into_parts();
        Ok(Answer {
            address: address.clone(),
            status: head.status,
            headers: head.headers,
            body,
            deadline: ask.deadline,
            limits: self.limits.clone(),
        })
    }

    fn trusting(&self, pem: &[u8]) -> Result<HttpClient, Fault> {
        let malformed =
            || Fault::asked("The certificate authorities of the credentials (ca.crt) are not sound PEM.");
        let mut roots = (*self.roots).clone();
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| malformed())?;
            roots.add(certificate).map_err(|_| malformed())?;
        }
        if roots.len() == before {
            return Err(malformed());
        }
        client(&self.reach, roots)
    }

    /// Connects to a host, if it may be reached.
    pub(crate) async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        self.reach.connect(host, port).await
    }
}

impl Answer {
    /// The next piece of the body; none at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let frame = tokio::time::timeout(left, self.body.frame())
                .await
                .map_err(|_| too_slow(&self.limits))?;
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        return Ok(Some(data));
                    }
                }
                Some(Err(error)) => {
                    let (address, why) = (&self.address, chain(&error));
                    return Err(Fault::unreachable(format!("{address} broke off: {why}.")));
                }
            }
        }
    }

    /// A small body as a whole.
    pub(crate) async fn small(&mut self, most: usize) -> Result<Vec<u8>, Fault> {
        let mut all = Vec::new();
        while let Some(chunk) = self.chunk().await? {
            if all.len() + chunk.len() > most {
                let (address, limit) = (&self.address, bytes(most as u64));
                return Err(Fault::refused(format!(
                    "{address} answers with more than {limit}, which is the limit for such an answer."
                )));
            }
            all.extend_from_slice(&chunk);
        }
        Ok(all)
    }

    /// A package, into a file.
    pub(crate) async fn save(&mut self, file: &mut std::fs::File) -> Result<(), Fault> {
        self.save_part(file, self.limits.package_bytes).await.map(|_| ())
    }

    /// A part of a package, of which so many bytes may still come, into a file; how many came.
    pub(crate) async fn save_part(&mut self, file: &mut std::fs::File, most: u64) -> Result<u64, Fault> {
        let limit = bytes(self.limits.package_bytes);
        let large = |address: &Address| {
            Fault::refused(format!(
                "The package at {address} has more than {limit}, which is the limit."
            ))
        };
        let promised = self.headers.get(header::CONTENT_LENGTH);
        let promised = promised.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if promised.is_some_and(|length| length > most) {
            return Err(large(&self.address));
        }
        let mut size = 0u64;
        while let Some(chunk) = self.chunk().await? {
            size += chunk.len() as u64;
            if size > most {
                return Err(large(&self.address));
            }
            // Small writes into the page cache: not worth another thread.
            io::Write::write_all(file, &chunk)
                .map_err(|error| Fault::local("A package could not be kept", &error))?;
        }
        Ok(size)
    }

    /// What a status that is no success means.
    pub(crate) fn failure(&self) -> Fault {
        let (address, status) = (&self.address, self.status);
        match status.as_u16() {
            401 | 403 | 407 => Fault::denied(format!(
                "{address} answers {status}: it wants other credentials than it was shown."
            )),
            404 | 410 => Fault::absent(format!(
                "{address} answers {status}: there is nothing, or it is not shown to these credentials."
            )),
            408 | 429 | 500..=599 => Fault::unreachable(format!("{address} answers {status}.")),
            _ => Fault::absent(format!("{address} answers {status}.")),
        }
    }
}

fn failed(address: &Address, error: &hyper_util::client::legacy::Error) -> Fault {
    // A refusal of ours lies at the bottom.
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = next {
        if let Some(fault) = error.downcast_ref::<Fault>() {
            return fault.clone();
        }
        if let Some(error) = error.downcast_ref::<io::Error>()
            && let Some(fault) = error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>())
        {
            return fault.clone();
        }
        next = error.source();
    }
    Fault::unreachable(format!("{address} could not be reached: {}.", chain(error)))
}

fn client(reach: &Reach, roots: RootCertStore) -> Result<HttpClient, Fault> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Fault::new(FaultKind::Local, format!("TLS cannot be used: {error}.")))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnector::from((Connector { reach: reach.clone() }, config));
    Ok(Client::builder(TokioExecutor::new())
        .pool_idle_timeout(Duration::from_secs(20))
        .build(connector))
}

/// Opens connections to addresses that may be reached.
#[derive(Clone)]
struct Connector {
    reach: Reach,
}

impl tower::Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<TokioIo<TcpStream>>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let reach = self.reach.clone();
        Box::pin(async move {
            let host = uri.host().unwrap_or_default();
            let host = host.trim_start_matches('[').trim_end_matches(']');
            let port = uri
                .port_u16()
                .unwrap_or(if uri.scheme_str() == Some("http") { 80 } else { 443 });
            reach.connect(host, port).await.map(TokioIo::new)
        })
    }
}

impl Reach {
    /// Connects to one of a name's addresses that may be reached; where none may, the error holds a [`Fault`].
    pub async fn connect(&self, host: &str, port: u16) -> io::Result<TcpStream> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((host, port)).await?.collect();
        let mut last = None;
        let mut refused = None;
        for address in found {
            if let Some(why) = self.refusal(address.ip()) {
                refused = Some(Fault::refused(format!(
                    "{host} is at {}, {why}, which may not be reached from here. Whoever runs the operator can permit its network.",
                    address.ip()
                )));
                continue;
            }
            match tokio::time::timeout(CONNECT, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => {
                    stream.set_nodelay(true)?;
                    return Ok(stream);
                }
                Ok(Err(error)) => last = Some(error),
                Err(_) => last = Some(io::ErrorKind::TimedOut.into()),
            }
        }
        match (last, refused) {
            (Some(error), _) => Err(error),
            (None, Some(fault)) => Err(io::Error::other(fault)),
            (None, None) => Err(io::Error::new(io::ErrorKind::NotFound, "the name has no address")),
        }
    }
}
