//! Running other programs: finding them, waiting with progress lines, and reporting their failure with what they said.
//!
//! Every program named here is found on PATH; one that is missing is reported with how to get it, never skipped.

use std::env;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How to get each program the tool calls and does not build.
const SOURCES: &[(&str, &str)] = &[
    ("go", "install Go 1.26 or newer (go.dev/dl)"),
    (
        "python3",
        "install Python 3.9 or newer with pip (Debian: apt-get install python3 python3-pip)",
    ),
    (
        "cc",
        "install a C compiler (Debian: apt-get install gcc libc6-dev)",
    ),
    ("openssl", "install OpenSSL 3 (Debian: apt-get install openssl)"),
    (
        "kubectl",
        "install kubectl 1.32 or newer (kubernetes.io/docs/tasks/tools)",
    ),
    ("git", "install git"),
];

/// Looks `program` up on PATH.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(file).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// As [`find`], but a missing program is an error that says what it is for and how to get it.
pub fn need(program: &str, purpose: &str) -> Result<PathBuf> {
    if let Some(file) = find(program) {
        return Ok(file);
    }
    let how = SOURCES
        .iter()
        .find(|(name, _)| *name == program)
        .map_or("install it", |(_, how)| *how);
    bail!("`{program}` is not on PATH; it is needed to {purpose}: {how}")
}

/// Runs `command` and returns its standard output. Failure quotes its standard error.
pub fn output(command: &mut Command) -> Result<String> {
    let done = command
        .output()
        .with_context(|| format!("cannot start {}", show(command)))?;
    if !done.status.success() {
        bail!(
            "{} failed ({}): {}",
            show(command),
            done.status,
            String::from_utf8_lossy(&done.stderr).trim()
        );
    }
    String::from_utf8(done.stdout).with_context(|| format!("{} printed no UTF-8", show(command)))
}

/// Runs `command` with both outputs in the file `log`, and a line on standard error for whatever takes over two
/// seconds. Failure quotes the end of the log.
pub fn logged(label: &str, command: &mut Command, log: &Path) -> Result<()> {
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", show(command)))?;
    let mut progress = Progress::new(label);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        progress.tick();
        thread::sleep(Duration::from_millis(50));
    };
    if !status.success() {
        bail!(
            "{} failed ({status}); the end of {}:\n{}",
            show(command),
            log.display(),
            tail(log, 4000)?
        );
    }
    progress.done();
    Ok(())
}

/// Tells that something still goes on: after two seconds, then every fifteen.
pub struct Progress<'a> {
    label: &'a str,
    start: Instant,
    next: Duration,
}

impl<'a> Progress<'a> {
    /// Starts the clock.
    pub fn new(label: &'a str) -> Self {
        Self {
            label,
            start: Instant::now(),
            next: Duration::from_secs(2),
        }
    }

    /// Prints a line when one is due. Call it often.
    pub fn tick(&mut self) {
        let elapsed = self.start.elapsed();
        if elapsed >= self.next {
            eprintln!("{}: {} s so far", self.label, elapsed.as_secs());
            self.next = elapsed + Duration::from_secs(15);
        }
    }

    /// Prints the closing line, if a progress line went before it.
    pub fn done(&self) {
        let elapsed = self.start.elapsed();
        if elapsed >= Duration::from_secs(2) {
            eprintln!("{}: done in {:.1} s", self.label, elapsed.as_secs_f64());
        }
    }
}

/// The last `most` bytes of a file, as text.
pub fn tail(file: &Path, most: u64) -> Result<String> {
    let mut open = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let length = open.metadata()?.len();
    open.seek(SeekFrom::Start(length.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Takes the lock `file` until the returned handle is dropped, saying so when another run holds it.
pub fn lock(file: &Path, what: &str) -> Result<File> {
    let handle = OpenOptions::new()
        .create(true)
        .append(true)
        .open(file)
        .with_context(|| format!("cannot open the lock {}", file.display()))?;
    if handle.try_lock().is_err() {
        eprintln!("{what}: waiting for another run to finish");
        handle
            .lock()
            .with_context(|| format!("cannot take the lock {}", file.display()))?;
    }
    Ok(handle)
}

/// Removes a folder and all in it; one that is not there is no error.
pub fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// The command as a person would type it, for messages.
pub fn show(command: &Command) -> String {
    let words = [command.get_program()].into_iter().chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_what_for_and_how_to_get_it() {
        let message = need("no-such-program", "test this").unwrap_err().to_string();
        assert_eq!(
            message,
            "`no-such-program` is not on PATH; it is needed to test this: install it"
        );
        assert!(find("sh").is_some());
    }

    #[test]
    fn failure_quotes_standard_error() {
        let message = output(Command::new("sh").args(["-c", "echo why >&2; exit 3"]))
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("exit status: 3") && message.ends_with("why"),
            "{message}"
        );
    }
}
