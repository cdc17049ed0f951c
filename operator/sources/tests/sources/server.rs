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
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), serve),
                );
            }
        });
        Self { address, asked, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
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
