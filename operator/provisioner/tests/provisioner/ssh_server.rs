//! An SSH server on loopback that runs commands with the real shell, and leads on to other servers.

use std::{
    net::SocketAddr,
    os::unix::fs::PermissionsExt,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use russh::{
    Channel, ChannelId, ChannelMsg,
    keys::{Certificate, PublicKey},
    server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
};

/// A running server.
pub(crate) struct SshServer {
    pub(crate) address: SocketAddr,
    /// As a connection's `host_key` has it.
    pub(crate) host_key: String,
    tunnels: Arc<AtomicUsize>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for SshServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A key made for a test, by OpenSSH.
pub(crate) fn key(kind: &str) -> (String, PublicKey) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let made = std::process::Command::new("ssh-keygen")
        .args(["-q", "-t", kind, "-N", "", "-f"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    let public = std::fs::read_to_string(path.with_extension("pub")).unwrap();
    (
        std::fs::read_to_string(path).unwrap(),
        PublicKey::from_openssh(&public).unwrap(),
    )
}

/// A certificate for a key of a machine that is called `name`, by an authority made for a test; with the authority's public key.
fn certified(public: &PublicKey, name: &str) -> (Certificate, String) {
    let folder = tempfile::tempdir().unwrap();
    let (authority, host) = (folder.path().join("ca"), folder.path().join("host.pub"));
    let (private, signer) = key("ecdsa");
    std::fs::write(&authority, private).unwrap();
    std::fs::set_permissions(&authority, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&host, public.to_openssh().unwrap()).unwrap();
    let signed = std::process::Command::new("ssh-keygen")
        .args(["-q", "-h", "-I", "host", "-V", "-1h:+1h", "-n", name, "-s"])
        .args([&authority, &host])
        .status();
    assert!(signed.unwrap().success());
    let certificate = std::fs::read_to_string(folder.path().join("host-cert.pub")).unwrap();
    (
        Certificate::from_openssh(&certificate).unwrap(),
        signer.to_openssh().unwrap(),
    )
}

/// How a server treats who runs a command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    Fair,
    /// Runs none.
    Refuses,
    /// Says far more than anybody asked for, and breaks off.
    Floods,
    /// Says that it went well, and that it says no more, but never closes.
    Lingers,
}

impl SshServer {
    /// Lets in who has the key or says `right`.
    pub(crate) async fn start(user: PublicKey) -> Self {
        Self::start_as(user, Manner::Fair, None).await
    }

    /// The same, with a certificate for this name; its `host_key` is that of the authority.
    pub(crate) async fn start_certified(user: PublicKey, name: &str) -> Self {
        Self::start_as(user, Manner::Fair, Some(name)).await
    }

    pub(crate) async fn start_as(user: PublicKey, manner: Manner, name: Option<&str>) -> Self {
        let (host, public) = key("ed25519");
        let certificate = name.map(|name| certified(&public, name));
        let (certificates, host_key) = match certificate {
            Some((certificate, signer)) => (vec![certificate], signer),
            None => (Vec::new(), public.to_openssh().unwrap()),
        };
        let config = Arc::new(Config {
            keys: vec![russh::keys::decode_secret_key(&host, None).unwrap()],
            certificates,
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let tunnels = Arc::new(AtomicUsize::new(0));
        let counted = tunnels.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let guest = Guest {
                    user: user.clone(),
                    manner,
                    channel: None,
                    tunnels: counted.clone(),
                };
                let session = russh::server::run_stream(config.clone(), stream, guest);
                tokio::spawn(async move {
                    if let Ok(session) = session.await {
                        let _ = session.await;
                    }
                });
            }
        });
        Self {
            address,
            host_key,
            tunnels,
            task,
        }
    }

    /// How many connections led on from here.
    pub(crate) fn tunnels(&self) -> usize {
        self.tunnels.load(Ordering::SeqCst)
    }
}

struct Guest {
    user: PublicKey,
    manner: Manner,
    channel: Option<Channel<Msg>>,
    tunnels: Arc<AtomicUsize>,
}

impl Handler for Guest {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, Self::Error> {
        Ok(if password == "right" {
            Auth::Accept
        } else {
            Auth::reject()
        })
    }

    async fn auth_publickey(&mut self, _: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        let same = key.public_key.key_data() == self.user.key_data();
        Ok(if same { Auth::Accept } else { Auth::reject() })
    }

    async fn channel_open_session(
        &mut self,
        channel: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        self.channel = Some(channel);
        reply.accept().await;
        Ok(())
    }

    async fn channel_open_direct_tcpip(
        &mut self,
        channel: Channel<Msg>,
        host: &str,
        port: u32,
        _: &str,
        _: u32,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        let stream = TcpStream::connect((host, u16::try_from(port).unwrap())).await;
        let mut stream = stream.unwrap();
        self.tunnels.fetch_add(1, Ordering::SeqCst);
        reply.accept().await;
        tokio::spawn(async move {
            let mut channel = channel.into_stream();
            let _ = tokio::io::copy_bidirectional(&mut channel, &mut stream).await;
        });
        Ok(())
    }

    async fn exec_request(
        &mut self,
        id: ChannelId,
        command: &[u8],
        session: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8(command.to_vec()).unwrap();
        let channel = self.channel.take().unwrap();
        if self.manner == Manner::Refuses {
            return session.channel_failure(id);
        }
        session.channel_success(id)?;
        if self.manner != Manner::Fair {
            let floods = self.manner == Manner::Floods;
            tokio::spawn(async move {
                let (mut read, write) = channel.split();
                tokio::spawn(async move { while read.wait().await.is_some() {} });
                let chunk = [0; 32 << 10];
                let chunks = if floods { 1000 } else { 1 };
                for _ in 0..chunks {
                    let _ = write.data(&chunk[..if floods { chunk.len() } else { 3 }]).await;
                }
                if floods {
                    let _ = write.close().await;
                } else {
                    let _ = write.exit_status(0).await;
                    let _ = write.eof().await;
                    std::future::pending::<()>().await;
                }
            });
            return Ok(());
        }
        let child = Command::new("sh")
            .args(["-c", &command])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = child.unwrap();
        tokio::spawn(async move {
            let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let mut errors = child.stderr.take().unwrap();
            let (mut read, write) = channel.split();
            let feed = tokio::spawn(async move {
                while let Some(message) = read.wait().await {
                    match message {
                        // What it no longer reads it needs no more.
                        ChannelMsg::Data { data } => drop(input.write_all(&data).await),
                        ChannelMsg::Eof | ChannelMsg::Close => break,
                        _ => {}
                    }
                }
            });
            let mut chunk = [0; 4096];
            while let Ok(count) = output.read(&mut chunk).await
                && count > 0
            {
                let _ = write.data(&chunk[..count]).await;
            }
            let mut words = Vec::new();
            let _ = errors.read_to_end(&mut words).await;
            if !words.is_empty() {
                let _ = write.extended_data(1, &words[..]).await;
            }
            let status = child.wait().await.unwrap().code().unwrap_or(255);
            let _ = write.exit_status(u32::try_from(status).unwrap()).await;
            let _ = write.eof().await;
            let _ = write.close().await;
            feed.abort();
        });
        Ok(())
    }
}
