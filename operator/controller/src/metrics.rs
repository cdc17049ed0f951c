//! Metrics over HTTP, for Prometheus: one page, nothing else, and no name or value of a tenant's on it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use anyhow::Context as _;
use ashlar_provider::WarmPool;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::Semaphore,
};

/// Connections at once; whoever waits is served later.
const AT_ONCE: usize = 8;
/// How long a connection may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest request head read.
const HEAD: u64 = 16 << 10;

pub(crate) async fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("metrics cannot be served on {address}"))
}

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, warm: Option<Arc<WarmPool>>) {
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let Ok(turn) = turns.clone().acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::debug!(%error, "a connection for metrics could not be taken");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let warm = warm.clone();
        tokio::spawn(async move {
            // Whoever is slow or goes away gets nothing.
            let _ = tokio::time::timeout(PATIENCE, answer(stream, warm)).await;
            drop(turn);
        });
    }
}

async fn answer(stream: TcpStream, warm: Option<Arc<WarmPool>>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let mut head = (&mut stream).take(HEAD);
    head.read_line(&mut line).await?;
    // The rest of the head is read, or the connection would be reset before the answer is.
    let mut rest = String::new();
    while head.read_line(&mut rest).await? > 2 {
        rest.clear();
    }
    let page = || warm.map_or_else(String::new, |warm| warm.counts().exposition());
    let (status, body) = match line.split_whitespace().take(2).collect::<Vec<_>>()[..] {
        ["GET", "/metrics"] => ("200 OK", page()),
        ["GET", _] => ("404 Not Found", String::new()),
        _ => ("405 Method Not Allowed", String::new()),
    };
    let text = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let mut stream = stream.into_inner();
    stream.write_all(text.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use ashlar_provider::WarmLimits;

    use super::*;

    async fn ask(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn one_page_and_nothing_else() {
        let listener = listen("127.0.0.1:0".parse().unwrap()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(serve(listener, Some(WarmPool::new(WarmLimits::default()))));
        let page = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
        assert!(page.contains("\nashlar_provider_started_total 0\n"), "{page}");
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "404"),
            ("POST /metrics HTTP/1.1\r\n\r\n", "405"),
            ("nonsense\r\n\r\n", "405"),
        ] {
            let answer = ask(address, request).await;
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        }
        serving.abort();
    }
}
