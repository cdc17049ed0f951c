//! An SSH server on loopback that runs the real `git-upload-pack`.

use std::{net::SocketAddr, process::Stdio, sync::Arc};

use russh::{
    Channel, ChannelId,
    keys::PublicKey,
    server::{Auth, ChannelOpenHandle, Config, Handler, Msg, Session, VerifiedPublicKey},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
};

/// A running server.
pub(crate) struct SshServer {
    pub(crate) address: SocketAddr,
    /// A line for `known_hosts`.
    pub(crate) known_hosts: String,
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

impl SshServer {
    /// Lets in who has the key.
    pub(crate) async fn start(user: PublicKey) -> Self {
        let (host, public) = key("ed25519");
        let public = public.to_openssh().unwrap();
        let config = Arc::new(Config {
            keys: vec![russh::keys::decode_secret_key(&host, None).unwrap()],
            auth_rejection_time: std::time::Duration::ZERO,
            ..Config::default()
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let guest = Guest {
                    user: user.clone(),
                    channel: None,
                    protocol: String::new(),
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
            known_hosts: format!("[127.0.0.1]:{} {public}\n", address.port()),
            task,
        }
    }
}

struct Guest {
    user: PublicKey,
    channel: Option<Channel<Msg>>,
    protocol: String,
}

impl Handler for Guest {
    type Error = russh::Error;

    async fn auth_publickey(&mut self, _: &str, key: VerifiedPublicKey<'_>) -> Result<Auth, Self::Error> {
        if key.public_key.key_data() == self.user.key_data() {
            Ok(Auth::Accept)
        } else {
            Ok(Auth::reject())
        }
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

    async fn env_request(
        &mut self,
        _: ChannelId,
        name: &str,
        value: &str,
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        assert_eq!(name, "GIT_PROTOCOL");
        value.clone_into(&mut self.protocol);
        Ok(())
    }

    async fn exec_request(
        &mut self,
        _: ChannelId,
        command: &[u8],
        _: &mut Session,
    ) -> Result<(), Self::Error> {
        let command = String::from_utf8(command.to_vec()).unwrap();
        assert!(command.starts_with("git-upload-pack '"), "{command}");
        let channel = self.channel.take().unwrap();
        let child = Command::new("sh")
            .args(["-c", &command])
            .env("GIT_PROTOCOL", &self.protocol)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        tokio::spawn(async move {
            // All of it, not its streams alone: it ends when it is dropped.
            let mut child = child;
            let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
            let (mut read, write) = channel.split();
            let feed = tokio::spawn(async move {
                while let Some(message) = read.wait().await {
                    match message {
                        // What it no longer reads it needs no more.
                        russh::ChannelMsg::Data { data } => drop(input.write_all(&data).await),
                        russh::ChannelMsg::Eof | russh::ChannelMsg::Close => break,
                        _ => {}
                    }
                }
            });
            let mut buffer = vec![0; 16 << 10];
            while let Ok(count @ 1..) = output.read(&mut buffer).await {
                if write.data(&buffer[..count]).await.is_err() {
                    break;
                }
            }
            let mut told = Vec::new();
            let _ = child.stderr.take().unwrap().read_to_end(&mut told).await;
            let _ = write.extended_data(1, &told[..]).await;
            let _ = write.eof().await;
            let _ = write.close().await;
            feed.abort();
        });
        Ok(())
    }
}
