//! An HTTP server on loopback for one test, whose answers the test gives.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Incoming, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_rustls::TlsAcceptor;

/// What was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

pub(crate) type Answer = Response<Full<bytes::Bytes>>;

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    has_tls: bool,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static) -> Self {
        Self::listen(answer, None).await
    }

    /// With TLS; gives the authority to trust as well.
    pub(crate) async fn start_tls(
        answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
    ) -> (Self, Vec<u8>) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let pem = made.cert.pem().into_bytes();
        let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        (
            Self::listen(answer, Some(TlsAcceptor::from(Arc::new(config)))).await,
            pem,
        )
    }

    async fn listen(
        answer: impl Fn(&Asked) -> Answer + Send + Sync + 'static,
        tls: Option<TlsAcceptor>,
    ) -> Self {
        let has_tls = tls.is_some();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<Asked>>>::default();
        let answer = Arc::new(answer);
        let noted = asked.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (answer, noted) = (answer.clone(), noted.clone());
                let serve = service_fn(move |request: Request<Incoming>| {
                    let (answer, noted) = (answer.clone(), noted.clone());
                    async move {
                        let (head, body) = request.into_parts();
                        let asked = Asked {
                            method: head.method.to_string(),
                            path: head.uri.path().to_owned(),
                            query: head.uri.query().unwrap_or_default().to_owned(),
                            headers: head.headers,
                            body: body.collect().await.unwrap().to_bytes().to_vec(),
                        };
                        noted.lock().unwrap().push(asked.clone());
                        let answered = tokio::task::spawn_blocking(move || answer(&asked)).await;
                        Ok::<_, Infallible>(answered.unwrap())
                    }
                });
                let tls = tls.clone();
                tokio::spawn(async move {
                    let http = hyper::server::conn::http1::Builder::new();
                    // A client that goes away is none of the server's business.
                    let _ = match tls {
                        None => http.serve_connection(TokioIo::new(stream), serve).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => http.serve_connection(TokioIo::new(stream), serve).await,
                            Err(_) => Ok(()),
                        },
                    };
                });
            }
        });
        Self {
            address,
            has_tls,
            asked,
            task,
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        if self.has_tls {
            return format!("https://{}{path}", self.host());
        }
        format!("http://{}{path}", self.address)
    }

    /// `HOST:PORT`, as its certificate has it.
    pub(crate) fn host(&self) -> String {
        format!("localhost:{}", self.address.port())
    }

    /// All that was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

pub(crate) fn answer(status: u16, body: impl Into<bytes::Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
    answer
}

pub(crate) fn with(mut answer: Answer, name: &'static str, value: &str) -> Answer {
    answer.headers_mut().insert(name, value.parse().unwrap());
    answer
}

pub(crate) fn redirect(to: &str) -> Answer {
    with(answer(302, ""), "location", to)
}
