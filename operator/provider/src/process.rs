//! One plugin process: its start, its handshake, its standard streams, and its certain end.
//!
//! A process never outlives its [`Process`]: dropping that ends all that it started, within a fence wherever that went, without one its
//! process group. Whoever waits for an answer
//! can wait for the process's end beside it. Nothing here speaks gRPC.

use std::{
    ffi::OsString,
    io,
    num::NonZeroU32,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    sync::{Arc, OnceLock, mpsc},
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, BufReader},
    process::{Child, ChildStdout, Command},
    runtime::Handle,
    sync::{oneshot, watch},
    task::JoinHandle,
    time::timeout,
};

use crate::{
    bounds::Bounds,
    handshake::{self, Handshake},
    launch::{Fence, Request, for_program},
    log::{PluginLog, Redactor},
    running::Running,
};

/// How long a process may live on after it closed its output.
const GRACE: Duration = Duration::from_secs(2);
/// Longest path of a folder for sockets: a socket's path may have 107 bytes, its name in there takes up to 24.
const SOCKET_FOLDER_LIMIT: usize = 83;

/// The program that becomes the plugin: `ashlar launch`.
#[derive(Clone, Debug)]
pub struct Launcher {
    /// The `ashlar` binary, as an absolute path.
    pub program: PathBuf,
    /// What comes before the arguments that [`crate::launch::run`] reads: `launch`.
    pub arguments: Vec<OsString>,
}

/// Which variables a plugin sees.
#[derive(Clone, Debug)]
pub enum Environment {
    /// Those of this process with these on top, as in Terraform.
    Inherited(Vec<(OsString, OsString)>),
    /// These, beside `PATH`, and `HOME` and `TMPDIR` in its private folder.
    Only(Vec<(OsString, OsString)>),
}

/// How plugin processes are run.
#[derive(Clone)]
pub struct LaunchOptions {
    /// What becomes the plugin.
    pub launcher: Launcher,
    /// How they are kept to their own.
    pub fence: Fence,
    /// What they are held to, and as whom they run.
    pub bounds: Bounds,
    /// Which variables they see.
    pub environment: Environment,
    /// The folder they run in.
    pub working_folder: PathBuf,
    /// Holds the private folders, one a process, which end with it. Keep it short: socket paths may have 107 bytes.
    pub scratch: PathBuf,
    /// What they may read within a fence (the module bundle, the plugin cache).
    pub readable: Vec<PathBuf>,
    /// What they may write within a fence, beside their private folder.
    pub writable: Vec<PathBuf>,
    /// What must not be shown of their logs.
    pub redact: Redactor,
    /// How long a plugin may take to be ready.
    pub handshake: Duration,
}

/// Why a plugin did not come up. The texts do not name the provider; the caller does.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    #[error("a private folder for it could not be made in {}", .0.display())]
    Scratch(PathBuf, #[source] io::Error),
    #[error("the process could not be started")]
    Spawn(#[source] io::Error),
    #[error("it was not ready after {0:?}")]
    Slow(Duration),
    #[error("its output could not be read")]
    Output(#[source] io::Error),
    #[error("{0}")]
    Nonsense(String),
    #[error("it ended before it was ready: {0}")]
    Ended(Arc<str>),
}

/// A task that reads what a process prints. It ends with this, for whoever holds the other end of the pipe may never close it.
struct Following(JoinHandle<()>);

impl Drop for Following {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A running plugin. Dropping it ends the plugin with what it started.
pub(crate) struct Process {
    pid: Option<u32>,
    ended: watch::Receiver<Option<Arc<str>>>,
    /// Dropped or used: the watcher kills.
    kill: std::sync::Mutex<Option<oneshot::Sender<()>>>,
    /// Set where it runs elsewhere.
    elsewhere: Option<Elsewhere>,
}

/// What is told of a process that runs elsewhere: that nothing can be asked of it any more, and why.
#[derive(Clone)]
pub(crate) struct Farewell(Arc<watch::Sender<Option<Arc<str>>>>);

impl Farewell {
    /// Only what is told first counts.
    pub(crate) fn tell(&self, how: &str) {
        self.0.send_if_modified(|told| {
            let is_first = told.is_none();
            told.get_or_insert_with(|| how.into());
            is_first
        });
    }
}

struct Elsewhere {
    farewell: Farewell,
    /// After what time nothing more is asked of it.
    given_up: OnceLock<Duration>,
}

/// What became of a process that took too long.
pub(crate) enum GivenUp {
    Killed,
    /// It runs elsewhere, and goes on.
    Left,
}

impl Process {
    /// Starts `binary` and waits until it is ready. `certificate` is told to it as the one to trust.
    pub(crate) async fn start(
        name: &Arc<str>,
        binary: &Path,
        certificate: &str,
        options: &LaunchOptions,
    ) -> Result<(Self, Handshake, PluginLog), StartError> {
        let private = PrivateFolder::new(&options.scratch, options.bounds.user)
            .map_err(|source| StartError::Scratch(options.scratch.clone(), source))?;
        let is_supervised = options.fence != Fence::Off;
        let command = command(binary, certificate, options, &private);
        let running = Running::start(command, is_supervised).await;
        let mut running = running.map_err(StartError::Spawn)?;
        let log = PluginLog::new(name.clone(), options.redact.clone());
        let stdout = running.child.stdout.take();
        let stderr = running.child.stderr.take();
        let stderr = stderr.map(|stream| Following(tokio::spawn(log.clone().follow(stream))));
        // Who follows its standard output is known once that has shaken hands.
        let (follow, mut following) = oneshot::channel::<Following>();

        let (kill, killed) = oneshot::channel();
        let (report, ended) = watch::channel(None);
        let pid = running.child.id();
        let last_words = log.clone();
        tokio::spawn(async move {
            let status = until_end(running, killed).await;
            let mut streams: Vec<Following> = stderr.into_iter().chain(following.try_recv()).collect();
            let read = async {
                for stream in &mut streams {
                    let _ = (&mut stream.0).await;
                }
            };
            // What a crash printed is still in the pipe; a grandchild may hold the pipe open for ever.
            let _ = timeout(Duration::from_secs(1), read).await;
            drop((streams, private));
            report.send_replace(Some(ending(status, last_words.panic()).into()));
        });
        let process = Self {
            pid,
            ended,
            kill: std::sync::Mutex::new(Some(kill)),
            elsewhere: None,
        };

        let Some(stdout) = stdout else {
            return Err(StartError::Nonsense("it has no standard output".to_owned()));
        };
        let mut stdout = BufReader::new(stdout);
        let line = match timeout(options.handshake, first_line(&mut stdout)).await {
            Err(_) => return Err(StartError::Slow(options.handshake)),
            Ok(line) => line.map_err(StartError::Output)?,
        };
        match line {
            Some(line) => {
                let handshake = handshake::parse(&line).map_err(StartError::Nonsense)?;
                // Where it has ended meanwhile, nobody takes it, and it ends here.
                let _ = follow.send(Following(tokio::spawn(log.clone().follow(stdout))));
                Ok((process, handshake, log))
            }
            // Standard output is closed: it ended, or it soon will.
            None => match timeout(GRACE, process.ended()).await {
                // Most say on standard error why they do not run.
                Ok(how) => Err(StartError::Ended(match log.last_words() {
                    Some(words) if !how.contains(&words) => format!("{how}. It said: {words}").into(),
                    _ => how,
                })),
                Err(_) => Err(StartError::Nonsense(
                    "it closed its output without a word".to_owned(),
                )),
            },
        }
    }

    /// One that runs elsewhere: nobody here starts or ends it. It counts as ended once that is told.
    pub(crate) fn elsewhere() -> (Self, Farewell) {
        let (report, ended) = watch::channel(None);
        let farewell = Farewell(Arc::new(report));
        let process = Self {
            pid: None,
            ended,
            kill: std::sync::Mutex::new(None),
            elsewhere: Some(Elsewhere {
                farewell: farewell.clone(),
                given_up: OnceLock::new(),
            }),
        };
        (process, farewell)
    }

    /// Ends one that took so long with a call; one that runs elsewhere is asked for nothing more, and its other calls have no answer.
    pub(crate) fn give_up(&self, limit: Duration) -> GivenUp {
        let Some(elsewhere) = &self.elsewhere else {
            self.kill();
            return GivenUp::Killed;
        };
        let _ = elsewhere.given_up.set(limit);
        elsewhere.farewell.tell(&format!(
            "another call took longer than {limit:?}, and nobody here can end a sidecar, so it was given up"
        ));
        GivenUp::Left
    }

    /// Is it asked for nothing more, as a call of it took so long?
    pub(crate) fn given_up(&self) -> Option<Duration> {
        self.elsewhere.as_ref()?.given_up.get().copied()
    }

    /// Its id, or that of who supervises it, which may be another process's once it has ended.
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid
    }

    /// Waits for the end of the process; says how it ended.
    pub(crate) async fn ended(&self) -> Arc<str> {
        let mut ended = self.ended.clone();
        let how = ended
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|how| how.clone());
        how.unwrap_or_else(|| "it was killed".into())
    }

    /// How it ended, if it did.
    pub(crate) fn has_ended(&self) -> Option<Arc<str>> {
        self.ended.borrow().clone()
    }

    /// Ends the process and what it started. Returns at once.
    pub(crate) fn kill(&self) {
        let mut kill = self
            .kill
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        drop(kill.take());
    }
}

/// The first line of the output; `None` if the output ended without one.
async fn first_line(stdout: &mut BufReader<ChildStdout>) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    stdout.take(handshake::LIMIT).read_until(b'\n', &mut line).await?;
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}

fn command(binary: &Path, certificate: &str, options: &LaunchOptions, private: &PrivateFolder) -> Command {
    let request = Request {
        binary: binary.to_owned(),
        is_supervised: options.fence != Fence::Off,
        ..Request::default()
    };
    let mut command = launched(request, &options.working_folder, options, private);
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .env(handshake::COOKIE.0, handshake::COOKIE.1)
        .env(handshake::VERSIONS.0, handshake::VERSIONS.1)
        .envs(handshake::PORTS)
        .env("PLUGIN_UNIX_SOCKET_DIR", private.tmp())
        .env(handshake::CLIENT_CERTIFICATE, certificate);
    command
}

/// What becomes the program of a request, within the bounds that the options set.
pub(crate) fn launched(
    request: Request,
    folder: &Path,
    options: &LaunchOptions,
    private: &PrivateFolder,
) -> Command {
    let mut writable = options.writable.clone();
    writable.push(private.0.clone());
    let request = Request {
        fence: options.fence,
        bounds: options.bounds,
        parent: std::process::id(),
        read: options.readable.clone(),
        write: writable,
        ..request
    };
    let mut command = Command::new(&options.launcher.program);
    command
        .args(&options.launcher.arguments)
        .args(request.arguments())
        .current_dir(folder)
        .stdin(Stdio::null())
        // Signals of the terminal are ours to handle, and killing the group reaches what the program started.
        .process_group(0)
        .kill_on_drop(true);
    match &options.environment {
        Environment::Inherited(more) => {
            command.envs(more.iter().map(|(name, value)| (name, value)));
        }
        Environment::Only(variables) => {
            command
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .env("HOME", private.home())
                .env("TMPDIR", private.tmp())
                .envs(variables.iter().map(|(name, value)| (for_program(name), value)));
        }
    }
    command
}

type Spawned = oneshot::Sender<io::Result<Child>>;

/// Starts a process from a thread that lives as long as we do: the kernel's parent-death signal follows the *thread*
/// that started a process, and a runtime's threads come and go.
pub(crate) async fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: OnceLock<mpsc::Sender<(Command, Handle, Spawned)>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<(Command, Handle, Spawned)>();
        let work = move || {
            for (mut command, runtime, answer) in jobs {
                let _inside = runtime.enter();
                // The asker may have given up: then the child is dropped here, and thereby killed.
                let _ = answer.send(command.spawn());
            }
        };
        // Should no thread be had, the channel is closed and every start fails below.
        let _ = std::thread::Builder::new()
            .name("plugin-starter".to_owned())
            .spawn(work);
        sender
    });
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (answer, child) = oneshot::channel();
    starter
        .send((command, Handle::current(), answer))
        .map_err(|_| gone())?;
    child.await.map_err(|_| gone())?
}

/// Waits until the process ended, ending it when asked.
async fn until_end(mut running: Running, killed: oneshot::Receiver<()>) -> io::Result<ExitStatus> {
    tokio::select! {
        status = running.child.wait() => status,
        _ = killed => running.end().await,
    }
}

fn ending(status: io::Result<ExitStatus>, panic: Option<String>) -> String {
    let status = status.map_or_else(
        |error| format!("its end could not be observed ({error})"),
        |status| status.to_string(),
    );
    match panic {
        Some(panic) => format!("{status}\n\n{panic}"),
        None => status,
    }
}

/// A folder of one process: `home` and `tmp` in it, nobody else may look in. Removed when dropped.
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn home(&self) -> PathBuf {
        self.0.join("home")
    }

    fn tmp(&self) -> PathBuf {
        self.0.join("tmp")
    }

    /// One that belongs to us, or to the user that its process runs as.
    pub(crate) fn new(scratch: &Path, owner: Option<NonZeroU32>) -> io::Result<Self> {
        use std::{
            os::unix::fs::{DirBuilderExt, PermissionsExt, chown},
            sync::atomic::{AtomicU64, Ordering},
        };
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true).mode(0o700).create(scratch)?;
        if owner.is_some() {
            // Its own folder is found by its path alone.
            std::fs::set_permissions(scratch, std::fs::Permissions::from_mode(0o711))?;
        }
        builder.recursive(false);
        loop {
            let folder = scratch.join(format!(
                "p{}-{}",
                std::process::id(),
                NEXT.fetch_add(1, Ordering::Relaxed)
            ));
            match builder.create(&folder) {
                // Left over from a process that had our id before us.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    let folder = Self(folder);
                    builder.create(folder.home())?;
                    builder.create(folder.tmp())?;
                    if folder.tmp().as_os_str().len() > SOCKET_FOLDER_LIMIT {
                        return Err(io::Error::other("its path is too long for sockets"));
                    }
                    let owner = owner.map(NonZeroU32::get);
                    // The outer one last: until then nobody else can put anything in the others' place.
                    for own in [folder.home(), folder.tmp(), folder.0.clone()] {
                        if owner.is_some() {
                            chown(own, owner, owner)?;
                        }
                    }
                    return Ok(folder);
                }
            }
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::debug!(folder = %self.0.display(), %error, "a plugin's private folder could not be removed");
        }
    }
}
