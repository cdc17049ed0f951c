//! A provider that serves others: started as a plugin, and reached at an address that is known beforehand.
//!
//! A plugin chooses its own socket and tells of it when it is ready; here connections are taken at a fixed address and handed on
//! byte by byte. Nothing in between is read, and nothing is encrypted: who may connect is settled by where it listens.

use std::{
    ffi::OsString,
    fmt,
    future::Future,
    io,
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    pin::pin,
    process::Stdio,
    str::FromStr,
};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, BufReader, copy, split},
    net::{TcpListener, TcpStream, UnixListener, UnixStream},
    process::Command,
    task::JoinSet,
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

/// Most connections at a time; whoever comes then waits for one to end. A run has one, and an operator few runs that share a
/// sidecar without taking turns.
const MOST: usize = 256;

/// How serving came to an end.
#[derive(Debug, PartialEq, Eq)]
pub enum Served {
    /// The provider ended; how.
    Ended(String),
    /// It was asked to stop, and nobody is connected any more.
    Stopped,
}

/// Starts a provider and hands connections on to it, until it ends. Once `stop` is ready none is taken any more, and those that
/// are there are served to their end: the operator that shares the Pod may be in the midst of a change when both are told to
/// stop. The provider is killed when this is dropped.
pub async fn relay(
    listen: &Listen,
    program: &Path,
    arguments: &[OsString],
    stop: impl Future<Output = ()>,
) -> io::Result<Served> {
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
        let mut served = JoinSet::new();
        take(&listener, &address, MOST, &mut served, stop).await;
        // Whoever tries from now on is refused, and not left waiting.
        drop(listener);
        if let Listen::Unix(path) = listen {
            let _ = std::fs::remove_file(path);
        }
        while served.join_next().await.is_some() {}
    };
    // What it prints from now on is for nobody, but a full pipe would stop it.
    let drain = async {
        let mut nothing = [0; 4096];
        while stdout.read(&mut nothing).await.is_ok_and(|count| count > 0) {}
        std::future::pending::<()>().await
    };
    tokio::select! {
        () = serve => Ok(Served::Stopped),
        () = drain => Ok(Served::Stopped),
        status = child.wait() => Ok(Served::Ended(status?.to_string())),
    }
}

/// Takes connections, so many at a time, until it is to stop.
async fn take(
    listener: &Listener,
    address: &Address,
    most: usize,
    served: &mut JoinSet<()>,
    stop: impl Future<Output = ()>,
) {
    let stop = pin!(stop);
    let take = async {
        loop {
            while served.try_join_next().is_some() {}
            if served.len() >= most {
                served.join_next().await;
                continue;
            }
            let address = address.clone();
            match listener {
                Listener::Unix(listener) => match listener.accept().await {
                    Ok((stream, _)) => drop(served.spawn(hand_on(stream, address))),
                    Err(error) => passed_over(&error).await,
                },
                Listener::Tcp(listener) => match listener.accept().await {
                    Ok((stream, _)) => drop(served.spawn(hand_on(stream, address))),
                    Err(error) => passed_over(&error).await,
                },
            }
        }
    };
    tokio::select! {
        () = take => {}
        () = stop => {}
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

async fn hand_on(from: impl AsyncRead + AsyncWrite, address: Address) {
    // A provider that takes no connection is seen by whoever wanted one: theirs ends.
    match address {
        Address::Unix(path) => {
            if let Ok(to) = UnixStream::connect(path).await {
                between(from, to).await;
            }
        }
        Address::Tcp(address) => {
            if let Ok(to) = TcpStream::connect(address).await {
                between(from, to).await;
            }
        }
    }
}

/// Either side may go at any time; then it is over for the other one, too, or a provider that hangs would hold the places of
/// those who gave it up.
async fn between(one: impl AsyncRead + AsyncWrite, other: impl AsyncRead + AsyncWrite) {
    let (mut from_one, mut to_one) = split(one);
    let (mut from_other, mut to_other) = split(other);
    tokio::select! {
        _ = copy(&mut from_one, &mut to_other) => {}
        _ = copy(&mut from_other, &mut to_one) => {}
    }
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

    #[tokio::test]
    async fn so_many_at_a_time_and_none_once_it_is_to_stop() {
        let folder = tempfile::tempdir().unwrap();
        let (path, inside) = (folder.path().join("s"), folder.path().join("inside"));
        // What is behind it answers each connection with a byte, and lets it stand.
        let plugin = UnixListener::bind(&inside).unwrap();
        tokio::spawn(async move {
            let mut standing = Vec::new();
            while let Ok((mut stream, _)) = plugin.accept().await {
                tokio::io::AsyncWriteExt::write_all(&mut stream, b"x")
                    .await
                    .unwrap();
                standing.push(stream);
            }
        });
        let listener = bind(&Listen::Unix(path.clone())).unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let taking = tokio::spawn(async move {
            let mut served = JoinSet::new();
            let stop = async { drop(stopped.await) };
            take(&listener, &Address::Unix(inside), 2, &mut served, stop).await;
            served.len()
        });
        let mut first = UnixStream::connect(&path).await.unwrap();
        let mut second = UnixStream::connect(&path).await.unwrap();
        let mut third = UnixStream::connect(&path).await.unwrap();
        assert_eq!(first.read_u8().await.unwrap(), b'x');
        assert_eq!(second.read_u8().await.unwrap(), b'x');
        let soon = std::time::Duration::from_millis(50);
        assert!(
            tokio::time::timeout(soon, third.read_u8()).await.is_err(),
            "it has to wait"
        );
        drop(first);
        assert_eq!(third.read_u8().await.unwrap(), b'x');
        stop.send(()).unwrap();
        assert!(
            (1..=2).contains(&taking.await.unwrap()),
            "who is connected stays so"
        );
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
