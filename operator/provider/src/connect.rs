//! A gRPC channel to a plugin that has shaken hands: unix socket or TCP, always TLS. One connection, never remade:
//! a plugin that drops it is taken for dead.

use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use tokio::{
    io::{AsyncRead, AsyncWrite},
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

async fn open(address: Address, tls: TlsConnector) -> std::io::Result<TlsStream<Box<dyn Stream>>> {
    let stream: Box<dyn Stream> = match address {
        Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Box::new(stream)
        }
    };
    let name = ServerName::try_from("localhost").map_err(std::io::Error::other)?;
    tls.connect(name, stream).await
}
