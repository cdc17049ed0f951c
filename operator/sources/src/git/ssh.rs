//! Git over SSH: a server that proves to be the known one runs `git-upload-pack`, whose streams the protocol is spoken over.
//!
//! Keys of servers and of their users are Ed25519 or ECDSA; users' may be RSA, too (`rsa_key`).

use std::{
    io::{self, Read, Write},
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::{Buf, Bytes};
use gix_transport::{
    Protocol,
    client::{
        blocking_io::Transport,
        git::{ConnectMode, blocking_io::Connection},
    },
};
use russh::{
    ChannelMsg, ChannelReadHalf, ChannelWriteHalf,
    client::{self, AuthResult, Msg},
    keys::{Algorithm, PrivateKeyWithHashAlg, PublicKey, PublicKeyOrCertificate, decode_secret_key},
};
use tokio::runtime::Handle;

use crate::{
    address::{Address, decode},
    credentials::{Credentials, Wallet},
    fault::Fault,
    git::{known_hosts, remote::Meter},
    http::Web,
    limits::Limits,
    tree::{shown, too_slow},
};

/// Longest text that a server's complaint is told of.
const LONGEST_COMPLAINT: usize = 1000;

/// A transport to a repository.
pub(crate) fn transport(
    web: &Web,
    wallet: &Wallet,
    address: &Address,
    deadline: Instant,
    handle: &Handle,
    meter: &Meter,
) -> Result<Box<dyn Transport + Send>, Fault> {
    let credentials = wallet.of(address).with_account_of(address);
    let left = deadline.saturating_duration_since(Instant::now());
    let open = tokio::time::timeout(left, open(web, &credentials, address));
    let (session, read, write) = handle.block_on(open).map_err(|_| too_slow(&web.limits))??;
    let shared = Shared {
        handle: handle.clone(),
        deadline,
        limits: web.limits.clone(),
        meter: meter.clone(),
        _session: Arc::new(session),
    };
    let reader = Reader {
        shared: shared.clone(),
        half: read,
        chunk: Bytes::new(),
        complaint: String::new(),
        got_something: false,
        address: address.to_string(),
    };
    let writer = Writer { shared, half: write };
    let connection = Connection::new(
        reader,
        writer,
        Protocol::V2,
        address.path.as_str(),
        None::<(String, Option<u16>)>,
        ConnectMode::Process,
        false,
    );
    Ok(Box::new(connection))
}

type Opened = (client::Handle<Server>, ChannelReadHalf, ChannelWriteHalf<Msg>);

async fn open(web: &Web, credentials: &Credentials, address: &Address) -> Result<Opened, Fault> {
    let known = credentials.known_hosts.as_deref().ok_or_else(|| {
        Fault::denied(format!(
            "{address}: without known_hosts in its credentials no SSH server can prove who it is. `ssh-keyscan {}` tells its keys; compare them with what its owner publishes.",
            address.host
        ))
    })?;
    let keys = known_hosts::keys_of(known, &address.host, address.port())?;
    let mut config = client::Config {
        keepalive_interval: Some(Duration::from_secs(15)),
        ..client::Config::default()
    };
    let mut algorithms: Vec<Algorithm> = keys.iter().map(PublicKey::algorithm).collect();
    algorithms.dedup();
    config.preferred.key = algorithms.into();
    let unreachable = |error: &dyn std::error::Error| {
        Fault::unreachable(format!(
            "{address} could not be reached: {}.",
            crate::fault::chain(error)
        ))
    };
    let stream = web
        .connect(&address.host, address.port())
        .await
        .map_err(
            |error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()) {
                Some(fault) => fault.clone(),
                None => unreachable(&error),
            },
        )?;
    let server = Server {
        keys,
        address: address.to_string(),
    };
    let explain = |error: Broken| match error {
        Broken::Fault(fault) => fault,
        Broken::Ssh(error @ russh::Error::NoCommonAlgo { .. }) => Fault::denied(format!(
            "{address} cannot be spoken to: {error}. Of a server whose known_hosts have keys of one kind, only such a key will do."
        )),
        Broken::Ssh(error) => unreachable(&error),
    };
    let mut session = client::connect_stream(Arc::new(config), stream, server)
        .await
        .map_err(explain)?;
    let broke = |error: russh::Error| unreachable(&error);
    if !log_in(&mut session, credentials, address).await? {
        return Err(Fault::denied(format!(
            "{address} does not let the user in with the key or password it was shown."
        )));
    }
    let channel = session.channel_open_session().await.map_err(broke)?;
    // A server that takes no such setting speaks the protocol's older version.
    channel
        .set_env(false, "GIT_PROTOCOL", "version=2")
        .await
        .map_err(broke)?;
    let path = decode(&address.path);
    let path = if path.starts_with("/~") {
        path.trim_start_matches('/')
    } else {
        &path
    };
    let quoted = path.replace('\'', "'\\''").replace('!', "'\\!'");
    channel
        .exec(false, format!("git-upload-pack '{quoted}'"))
        .await
        .map_err(broke)?;
    let (read, write) = channel.split();
    Ok((session, read, write))
}

async fn log_in(
    session: &mut client::Handle<Server>,
    credentials: &Credentials,
    address: &Address,
) -> Result<bool, Fault> {
    let broke =
        |error: russh::Error| Fault::unreachable(format!("{address} broke off while logging in: {error}."));
    let user = credentials.username.clone().unwrap_or_else(|| "git".to_owned());
    let result = match (&credentials.identity, &credentials.password) {
        (Some(identity), passphrase) => {
            if let Some(key) = super::rsa_key::read(identity)? {
                return super::rsa_key::log_in(session, &user, key).await.map_err(broke);
            }
            let key = decode_secret_key(identity, passphrase.as_deref()).map_err(|_| {
                Fault::asked(format!(
                    "The private key for {address} (identity) cannot be read: it is no Ed25519, ECDSA or unencrypted RSA key in PEM, or its passphrase (password) is another one."
                ))
            })?;
            let key = PrivateKeyWithHashAlg::new(Arc::new(key), None);
            session.authenticate_publickey(user, key).await.map_err(broke)?
        }
        (None, Some(password)) => session
            .authenticate_password(user, password.clone())
            .await
            .map_err(broke)?,
        (None, None) => session.authenticate_none(user).await.map_err(broke)?,
    };
    Ok(matches!(result, AuthResult::Success))
}

/// What is known of the server.
pub(crate) struct Server {
    keys: Vec<PublicKey>,
    address: String,
}

/// Why there is no session.
#[derive(Debug)]
pub(crate) enum Broken {
    Fault(Fault),
    Ssh(russh::Error),
}

impl From<russh::Error> for Broken {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for Server {
    type Error = Broken;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Broken> {
        let known = match shown {
            PublicKeyOrCertificate::PublicKey { key, .. } => {
                self.keys.iter().any(|known| known.key_data() == key.key_data())
            }
            PublicKeyOrCertificate::Certificate(_) => false,
        };
        if known {
            return Ok(true);
        }
        Err(Broken::Fault(Fault::denied(format!(
            "{} shows another key than known_hosts has for it. Somebody may be pretending to be this server; if its key was replaced, put the new one into known_hosts.",
            self.address
        ))))
    }
}

/// What both directions need.
#[derive(Clone)]
struct Shared {
    handle: Handle,
    deadline: Instant,
    limits: Limits,
    meter: Meter,
    /// Ends the connection when nobody uses it any more.
    _session: Arc<client::Handle<Server>>,
}

impl Shared {
    fn wait<T>(&self, work: impl Future<Output = T>) -> io::Result<T> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.handle
            .block_on(async { tokio::time::timeout(left, work).await })
            .map_err(|_| self.meter.fail(too_slow(&self.limits)))
    }
}

struct Reader {
    shared: Shared,
    half: ChannelReadHalf,
    chunk: Bytes,
    complaint: String,
    got_something: bool,
    address: String,
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.chunk.is_empty() {
            match self.shared.clone().wait(self.half.wait())? {
                Some(ChannelMsg::Data { data }) => {
                    self.chunk = data;
                    self.got_something = true;
                    self.shared.meter.count(self.chunk.len() as u64)?;
                }
                Some(ChannelMsg::ExtendedData { data, .. }) => {
                    self.shared.meter.count(data.len() as u64)?;
                    if self.complaint.len() < LONGEST_COMPLAINT {
                        self.complaint.push_str(&String::from_utf8_lossy(&data));
                    }
                }
                None if !self.got_something && self.complaint.is_empty() => {
                    return Err(self
                        .shared
                        .meter
                        .fail(Fault::unreachable(format!("{} broke off.", self.address))));
                }
                // Its words may come after the end of its data.
                Some(ChannelMsg::Close) | None => {
                    if self.got_something {
                        return Ok(0);
                    }
                    let words = shown(self.complaint.trim());
                    return Err(self.shared.meter.fail(Fault::absent(format!(
                        "{} gives no repository. The server says: {words}.",
                        self.address
                    ))));
                }
                Some(_) => {}
            }
        }
        let count = buffer.len().min(self.chunk.len());
        let (to, from) = (buffer.get_mut(..count), self.chunk.get(..count));
        if let (Some(to), Some(from)) = (to, from) {
            to.copy_from_slice(from);
        }
        self.chunk.advance(count);
        Ok(count)
    }
}

struct Writer {
    shared: Shared,
    half: ChannelWriteHalf<Msg>,
}

impl Write for Writer {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.shared
            .wait(self.half.data(data))?
            .map_err(|error| io::Error::new(io::ErrorKind::BrokenPipe, error.to_string()))?;
        Ok(data.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
