//! A provider that serves others: started as a plugin, and reached at an address that is known beforehand.
//!
//! A plugin chooses its own socket and tells of it when it is ready; here connections are taken at a fixed address and handed on
//! byte by byte. Nothing in between is read, and nothing is encrypted: who may connect is settled by where it listens.

use std::{
    ffi::OsString,
    fmt, io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Stdio,
    str::FromStr,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, BufReader, copy_bidirectional},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    process::Command,
};

use crate::handshake::{self, Address};

/// Where a provider is to be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A socket of this machine, which the user and the group of this process may connect to.
    Unix(PathBuf),
    /// An address and a port.
    Tcp(SocketAddr),
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(address) => write!(f, "tcp:{address}"),
        }
    }
}

impl FromStr for Listen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is neither unix:PATH nor tcp:ADDRESS:PORT");
        let (kind, place) = text.split_once(':').ok_or_else(wrong)?;
        match kind {
            "unix" if !place.is_empty() => Ok(Self::Unix(place.into())),
            "tcp" => place.parse().map(Self::Tcp).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

enum Listener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// Starts a provider and hands connections on to it, until it ends; tells how it ended. It is killed when this is dropped.
pub async fn relay(listen: &Listen, program: &Path, arguments: &[OsString]) -> io::Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .env(handshake::COOKIE.0, handshake::COOKIE.1)
        .env(handshake::VERSIONS.0, handshake::VERSIONS.1)
        .env_remove(handshake::CLIENT_CERTIFICATE)
        .kill_on_drop(true);
    let mut child = command.spawn()?;
    let stdout = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let mut stdout = BufReader::new(stdout);
    let mut line = Vec::new();
    let mut head = (&mut stdout).take(handshake::LIMIT);
    tokio::io::AsyncBufReadExt::read_until(&mut head, b'\n', &mut line).await?;
    let address = address_in(&String::from_utf8_lossy(&line)).map_err(io::Error::other)?;
    let listener = bind(listen)?;
    let serve = async {
        loop {
            let address = address.clone();
            match &listener {
                Listener::Unix(listener) => match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(hand_on(stream, address))),
                    Err(error) => passed_over(&error).await,
                },
                Listener::Tcp(listener) => match listener.accept().await {
                    Ok((stream, _)) => drop(tokio::spawn(hand_on(stream, address))),
                    Err(error) => passed_over(&error).await,
                },
            }
        }
    };
    // What it prints from now on is for nobody, but a full pipe would stop it.
    let drain = async {
        let mut nothing = [0; 4096];
        while stdout.read(&mut nothing).await.is_ok_and(|count| count > 0) {}
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = serve => Ok(String::new()),
        () = drain => Ok(String::new()),
        status = child.wait() => Ok(status?.to_string()),
    }
}

/// A connection that could not be taken, for want of descriptors perhaps: the provider may be in the midst of a change.
async fn passed_over(error: &io::Error) {
    tracing::warn!(%error, "a connection to the sidecar could not be taken");
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
}

/// Where a plugin listens that was given no certificate, so that it tells none.
fn address_in(line: &str) -> Result<Address, String> {
    let fields: Vec<&str> = line.trim().split('|').take(5).collect();
    let whole = format!("{}|AAAA", fields.join("|"));
    handshake::parse(&whole).map(|told| told.address)
}

fn bind(listen: &Listen) -> io::Result<Listener> {
    match listen {
        Listen::Unix(path) => {
            match std::fs::remove_file(path) {
                // Left by one that was here before; whoever is connected to that stays so.
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
            let listener = UnixListener::bind(path)?;
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o660))?;
            Ok(Listener::Unix(listener))
        }
        Listen::Tcp(address) => {
            let listener = std::net::TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(Listener::Tcp(TcpListener::from_std(listener)?))
        }
    }
}

async fn hand_on(mut from: impl AsyncRead + AsyncWrite + Unpin, address: Address) {
    // Either side may go at any time; the other one is told by its connection's end.
    let _ = match address {
        Address::Unix(path) => match UnixStream::connect(path).await {
            Ok(mut to) => copy_bidirectional(&mut from, &mut to).await.map(|_| ()),
            Err(error) => Err(error),
        },
        Address::Tcp(address) => match TcpStream::connect(address).await {
            Ok(mut to) => copy_bidirectional(&mut from, &mut to).await.map(|_| ()),
            Err(error) => Err(error),
        },
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_without_a_certificate() {
        for line in [
            "1|6|unix|/tmp/x|grpc",
            "1|5|unix|/tmp/x|grpc|",
            "1|5|unix|/tmp/x|grpc||true\n",
        ] {
            assert_eq!(address_in(line), Ok(Address::Unix("/tmp/x".into())), "{line}");
        }
        assert!(address_in("usage: x").is_err());
    }

    #[test]
    fn places() {
        assert_eq!(
            Listen::from_str("unix:/run/x.sock"),
            Ok(Listen::Unix("/run/x.sock".into()))
        );
        let tcp = Listen::from_str("tcp:127.0.0.1:50");
        assert_eq!(tcp, Ok(Listen::Tcp(([127, 0, 0, 1], 50).into())));
        for wrong in ["", "unix:", "tcp:x", "/run/x.sock", "tcp:127.0.0.1"] {
            assert!(Listen::from_str(wrong).is_err(), "{wrong}");
        }
    }
}
