//! A gRPC channel to a plugin: unix socket or TCP; TLS with one that has shaken hands, none with one that runs elsewhere, as
//! go-plugin has it. One connection, never remade: a plugin that drops it is taken for dead.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};
use tokio_rustls::{TlsConnector, client::TlsStream};
use tonic::transport::{Channel, Endpoint, Error};
use tower::service_fn;

use crate::handshake::Address;

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// Large enough that a schema or a state does not wait for window updates.
const WINDOW: u32 = 4 << 20;

/// Connects to the plugin.
pub(crate) async fn connect(address: Address, tls: TlsConnector) -> Result<Channel, Error> {
    let connector = service_fn(move |_| {
        let (address, tls) = (address.clone(), tls.clone());
        async move { open(address, tls).await.map(TokioIo::new) }
    });
    // The scheme only says that TLS is not tonic's business; the authority is the name in both certificates.
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .connect_with_connector(connector)
        .await
}

/// Connects to a plugin that runs elsewhere. `broken` is called when the connection ends.
pub(crate) async fn attach(address: Address, broken: Broken) -> Result<Channel, Error> {
    let was_made = Arc::new(AtomicBool::new(false));
    let connector = service_fn(move |_| {
        let (address, broken, was_made) = (address.clone(), broken.clone(), was_made.clone());
        async move {
            if was_made.swap(true, Ordering::SeqCst) {
                // Whoever answers now may be another process, which nobody has configured.
                return Err(io::Error::other("the connection broke"));
            }
            let stream = stream(address).await?;
            Ok(TokioIo::new(Watched { stream, broken }))
        }
    });
    Endpoint::from_static("http://localhost")
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .connect_with_connector(connector)
        .await
}

/// Is told that a connection ended.
pub(crate) type Broken = Arc<dyn Fn() + Send + Sync>;

/// A connection whose end is told.
struct Watched {
    stream: Box<dyn Stream>,
    broken: Broken,
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if read.is_err() || (room > 0 && buffer.filled().len() == before) {
            (self.broken)();
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        if written.is_err() {
            (self.broken)();
        }
        Poll::Ready(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

async fn stream(address: Address) -> io::Result<Box<dyn Stream>> {
    Ok(match address {
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    })
}

async fn open(address: Address, tls: TlsConnector) -> io::Result<TlsStream<Box<dyn Stream>>> {
    let stream = stream(address).await?;
    let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
    tls.connect(name, stream).await
}
