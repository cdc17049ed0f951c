//! An SSH session with a machine: reached within the time it has, over a bastion where one is named.
//!
//! Source: Terraform `communicator/ssh`. Keys of machines are Ed25519 or ECDSA; users' may be RSA, too.

use std::{sync::Arc, time::Duration};

use ashlar_sources::{Fault, rsa_key};
use russh::{
    Channel, ChannelMsg, Pty,
    client::{self, AuthResult, Handle, KeyboardInteractiveAuthResponse, Msg},
    keys::{
        Algorithm, Certificate, EcdsaCurve, PrivateKeyWithHashAlg, PublicKey,
        agent::{AgentIdentity, client::AgentClient},
        decode_secret_key,
    },
};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

use crate::{
    Rules,
    connection::{Connection, Place},
    machine::Machine,
};

/// The pause before a machine that could not be reached is tried again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(20);
/// How long a machine that let us in may take to answer what is answered at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// Kinds of keys that a certificate of a machine may be of.
const CERTIFIED: [Algorithm; 4] = [
    Algorithm::Ed25519,
    Algorithm::Ecdsa {
        curve: EcdsaCurve::NistP256,
    },
    Algorithm::Ecdsa {
        curve: EcdsaCurve::NistP384,
    },
    Algorithm::Ecdsa {
        curve: EcdsaCurve::NistP521,
    },
];

/// A machine that lets us in. The connection ends when this is dropped.
pub(crate) struct Session {
    handle: Handle<Machine>,
    _bastion: Option<Handle<Machine>>,
}

/// Why there is no session.
enum Failure {
    /// Trying again may help: the machine may be starting.
    Passing(String),
    /// It will not.
    Final(String),
}

impl Session {
    /// Reaches the machine, trying again until its time is over: it may have been made this minute.
    pub(crate) async fn open(connection: &Connection, rules: &Rules) -> Result<Self, String> {
        let end = end_after(connection.timeout);
        let mut pause = FIRST_PAUSE;
        let mut last = "it did not answer in time".to_owned();
        loop {
            match timeout_at(end, Self::attempt(connection, rules)).await {
                Ok(Ok(session)) => return Ok(session),
                Ok(Err(Failure::Final(why))) => return Err(why),
                Ok(Err(Failure::Passing(why))) => last = why,
                Err(_) => {}
            }
            let next = Instant::now() + pause;
            if next >= end {
                let (target, seconds) = (&connection.target, connection.timeout.as_secs());
                return Err(format!(
                    "{target} could not be reached within {seconds} s: {last}"
                ));
            }
            sleep_until(next).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn attempt(connection: &Connection, rules: &Rules) -> Result<Self, Failure> {
        let target = &connection.target;
        let Some(bastion) = &connection.bastion else {
            let handle = direct(target, rules).await?;
            let handle = log_in(handle, target, connection, rules).await?;
            return Ok(Self {
                handle,
                _bastion: None,
            });
        };
        let way = direct(bastion, rules).await?;
        let way = log_in(way, bastion, connection, rules).await?;
        let channel = way
            .channel_open_direct_tcpip(target.host.as_str(), u32::from(target.port), "127.0.0.1", 0)
            .await
            .map_err(|error| {
                Failure::Passing(format!("{bastion} gives no connection to {target}: {error}"))
            })?;
        let handle = over(channel.into_stream(), target).await?;
        let handle = log_in(handle, target, connection, rules).await?;
        Ok(Self {
            handle,
            _bastion: Some(way),
        })
    }

    /// A channel on which a command runs; on a terminal, as people run theirs, if `terminal`.
    pub(crate) async fn command(&self, command: &str, terminal: bool) -> Result<Channel<Msg>, String> {
        let broke = |error: russh::Error| format!("the connection broke off: {error}");
        let opened = timeout(PATIENCE, self.handle.channel_open_session()).await;
        let channel = opened.map_err(|_| silent())?.map_err(broke)?;
        if terminal {
            let modes = [
                (Pty::ECHO, 0),
                (Pty::TTY_OP_ISPEED, 14_400),
                (Pty::TTY_OP_OSPEED, 14_400),
            ];
            channel
                .request_pty(false, "xterm", 80, 40, 0, 0, &modes)
                .await
                .map_err(broke)?;
        }
        channel.exec(true, command).await.map_err(broke)?;
        Ok(channel)
    }

    /// Runs a command to its end and hands over what it prints. It may take as long as it takes.
    pub(crate) async fn run(&self, command: &str, mut printed: impl FnMut(&[u8])) -> Result<(), String> {
        let mut channel = self.command(command, true).await?;
        let (mut ending, mut silent) = (None, false);
        while !(silent && ending.is_some())
            && let Some(message) = channel.wait().await
        {
            match message {
                ChannelMsg::Data { data } | ChannelMsg::ExtendedData { data, .. } => printed(&data),
                ChannelMsg::ExitStatus { exit_status } => ending = Some(exited(exit_status)),
                ChannelMsg::ExitSignal { signal_name, .. } => {
                    ending = Some(Err(format!("it was ended by the signal {signal_name:?}")));
                }
                ChannelMsg::Failure => return Err(NO_COMMANDS.to_owned()),
                ChannelMsg::Eof => silent = true,
                ChannelMsg::Close => break,
                _ => {}
            }
        }
        ending.unwrap_or_else(|| Err("the connection broke off before it ended".to_owned()))
    }
}

/// What is told of a machine that refuses to run one.
pub(crate) const NO_COMMANDS: &str = "the machine does not run commands";

/// What is told of a machine that says nothing.
pub(crate) fn silent() -> String {
    format!("the machine gave no answer within {} s", PATIENCE.as_secs())
}

/// When so much time is over; no clock goes further than a hundred years.
fn end_after(time: Duration) -> Instant {
    const FAR: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
    let now = Instant::now();
    now.checked_add(time.min(FAR)).unwrap_or(now)
}

fn exited(status: u32) -> Result<(), String> {
    match status {
        0 => Ok(()),
        status => Err(format!("it exited with status {status}")),
    }
}

/// Connects to a machine within our own reach.
async fn direct(place: &Place, rules: &Rules) -> Result<Handle<Machine>, Failure> {
    let stream = rules.reach.connect(&place.host, place.port).await;
    let stream =
        stream.map_err(
            |error| match error.get_ref().and_then(|inner| inner.downcast_ref::<Fault>()) {
                Some(refused) => Failure::Final(refused.text.clone()),
                None => Failure::Passing(error.to_string()),
            },
        )?;
    over(stream, place).await
}

/// Speaks to a machine over a stream.
async fn over<S>(stream: S, place: &Place) -> Result<Handle<Machine>, Failure>
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
{
    let mut config = client::Config {
        keepalive_interval: Some(Duration::from_secs(15)),
        ..client::Config::default()
    };
    let key = match &place.host_key {
        None => None,
        Some(text) => {
            let key = PublicKey::from_openssh(text).map_err(|_| {
                Failure::Final(format!(
                    "The host key given for {place} is no public key as OpenSSH writes them."
                ))
            })?;
            // So that the machine shows this one, if it has several, or a certificate that may be signed by it.
            config.preferred.key = vec![key.algorithm()].into();
            config.preferred.host_key_certificates = CERTIFIED.to_vec().into();
            Some(key)
        }
    };
    client::connect_stream(Arc::new(config), stream, Machine::new(&place.host, key))
        .await
        .map_err(|error| match error {
            russh::Error::UnknownKey => Failure::Final(format!(
                "{place} shows neither the host key given for it nor a valid certificate for this host that is signed by it. \
                 Somebody may be pretending to be this machine."
            )),
            error => Failure::Passing(error.to_string()),
        })
}

/// Logs in by what there is, one after the other: a key, a password, the agent.
async fn log_in(
    mut handle: Handle<Machine>,
    place: &Place,
    connection: &Connection,
    rules: &Rules,
) -> Result<Handle<Machine>, Failure> {
    let broke =
        |error: russh::Error| Failure::Passing(format!("{place} broke off while logging in: {error}"));
    if place.private_key.is_some() && by_key(&mut handle, place).await? {
        return Ok(handle);
    }
    if let Some(password) = &place.password {
        let answer = handle.authenticate_password(&*place.user, &**password).await;
        if matches!(answer.map_err(broke)?, AuthResult::Success)
            || by_questions(&mut handle, place, password).await.map_err(broke)?
        {
            return Ok(handle);
        }
    }
    let asked = connection.agent.unwrap_or(rules.agent.is_some());
    if asked && by_agent(&mut handle, place, connection, rules).await? {
        return Ok(handle);
    }
    if place.private_key.is_none() && place.password.is_none() && !asked {
        let answer = handle.authenticate_none(&*place.user).await;
        if matches!(answer.map_err(broke)?, AuthResult::Success) {
            return Ok(handle);
        }
    }
    // A machine that starts may not know its users yet.
    Err(Failure::Passing(format!(
        "{place} does not let the user in with what the connection gives"
    )))
}

async fn by_key(handle: &mut Handle<Machine>, place: &Place) -> Result<bool, Failure> {
    let pem = place.private_key.as_deref().unwrap_or_default();
    let broke =
        |error: russh::Error| Failure::Passing(format!("{place} broke off while logging in: {error}"));
    let unsound = || {
        Failure::Final(format!(
            "The private key for {place} cannot be read: it is no Ed25519, ECDSA or RSA key in PEM without a passphrase."
        ))
    };
    if place.certificate.is_none()
        && let Some(key) = rsa_key::read(pem).map_err(|_| unsound())?
    {
        return rsa_key::log_in(handle, &place.user, key).await.map_err(broke);
    }
    let key = Arc::new(decode_secret_key(pem, None).map_err(|_| unsound())?);
    let answer = match &place.certificate {
        None => {
            let key = PrivateKeyWithHashAlg::new(key, None);
            handle.authenticate_publickey(&*place.user, key).await
        }
        Some(text) => {
            let certificate = Certificate::from_openssh(text).map_err(|_| {
                Failure::Final(format!(
                    "The certificate for {place} is none as OpenSSH writes them."
                ))
            })?;
            handle
                .authenticate_openssh_cert(&*place.user, key, certificate)
                .await
        }
    };
    Ok(matches!(answer.map_err(broke)?, AuthResult::Success))
}

/// The password, for servers that ask for it as one of several questions.
async fn by_questions(
    handle: &mut Handle<Machine>,
    place: &Place,
    password: &str,
) -> Result<bool, russh::Error> {
    let mut answer = handle
        .authenticate_keyboard_interactive_start(&*place.user, None::<String>)
        .await?;
    // No server has so many rounds.
    for _ in 0..8 {
        let prompts = match answer {
            KeyboardInteractiveAuthResponse::Success => return Ok(true),
            KeyboardInteractiveAuthResponse::Failure { .. } => return Ok(false),
            KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. } => prompts,
        };
        let answers = prompts.iter().map(|_| password.to_owned()).collect();
        answer = handle.authenticate_keyboard_interactive_respond(answers).await?;
    }
    Ok(false)
}

async fn by_agent(
    handle: &mut Handle<Machine>,
    place: &Place,
    connection: &Connection,
    rules: &Rules,
) -> Result<bool, Failure> {
    let Some(socket) = &rules.agent else {
        let why = "The connection asks for an SSH agent, and there is none here (SSH_AUTH_SOCK).";
        return Err(Failure::Final(why.to_owned()));
    };
    let unheard =
        |error: russh::keys::Error| Failure::Final(format!("The SSH agent cannot be asked: {error}"));
    let mut agent = AgentClient::connect_uds(socket).await.map_err(unheard)?;
    let mut keys = agent.request_identities().await.map_err(unheard)?;
    if let Some(wanted) = &connection.agent_identity {
        keys.sort_by_key(|key| !comment(key).ends_with(&**wanted));
    }
    for key in keys {
        let answer = match key {
            AgentIdentity::PublicKey { key, .. } => {
                let hash = match key.algorithm() {
                    russh::keys::Algorithm::Rsa { .. } => Some(russh::keys::HashAlg::Sha256),
                    _ => None,
                };
                handle
                    .authenticate_publickey_with(&*place.user, key, hash, &mut agent)
                    .await
            }
            AgentIdentity::Certificate { certificate, .. } => {
                handle
                    .authenticate_certificate_with(&*place.user, certificate, None, &mut agent)
                    .await
            }
        };
        if matches!(answer, Ok(AuthResult::Success)) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn comment(key: &AgentIdentity) -> &str {
    match key {
        AgentIdentity::PublicKey { comment, .. } | AgentIdentity::Certificate { comment, .. } => comment,
    }
}
