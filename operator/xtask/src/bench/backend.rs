//! The state of one Terraform run, kept in memory and served on loopback as its backend "http" asks for it.
//!
//! With a backend Terraform writes a state at intervals, as it does for its users who keep states in a cluster; into a
//! file it would write it after each resource, and we would measure that.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// No state of ours comes near; more is a mistake.
const LONGEST_BODY: u64 = 1 << 30;
const LONGEST_HEAD: u64 = 1 << 16;

/// Serves until it is dropped.
pub(super) struct Backend {
    address: SocketAddr,
    kept: Arc<Mutex<Kept>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// Starts with no state, on a free port.
    pub(super) fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).context("no port on loopback")?;
        let address = listener.local_addr()?;
        let kept = Arc::new(Mutex::new(Kept::default()));
        let ended = Arc::new(AtomicBool::new(false));
        let thread = thread::spawn({
            let (kept, ended) = (kept.clone(), ended.clone());
            move || accept(&listener, &kept, &ended)
        });
        Ok(Self {
            address,
            kept,
            ended,
            thread: Some(thread),
        })
    }

    /// The block that makes Terraform keep its state here.
    pub(super) fn configuration(&self) -> String {
        let url = format!("http://{}/state", self.address);
        format!(
            "terraform {{\n  backend \"http\" {{\n    address        = \"{url}\"\n    lock_address   = \"{url}\"\n    \
             unlock_address = \"{url}\"\n  }}\n}}\n"
        )
    }

    /// Puts a state in place.
    pub(super) fn seed(&self, state: Vec<u8>) {
        lock(&self.kept).state = Some(state);
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        // Wakes the thread, which waits for a connection. Where this fails, it has ended already.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is kept.
#[derive(Default)]
struct Kept {
    state: Option<Vec<u8>>,
    /// What the holder of the lock sent.
    lock: Option<Vec<u8>>,
}

impl Kept {
    /// Status and body of the answer to one request.
    fn answer(&mut self, method: &str, body: Vec<u8>) -> (u16, Vec<u8>) {
        match method {
            "GET" => match &self.state {
                Some(state) => (200, state.clone()),
                None => (404, Vec::new()),
            },
            "POST" => {
                self.state = Some(body);
                (200, Vec::new())
            }
            "DELETE" => {
                self.state = None;
                (200, Vec::new())
            }
            "LOCK" => match &self.lock {
                Some(holder) => (423, holder.clone()),
                None => {
                    self.lock = Some(body);
                    (200, Vec::new())
                }
            },
            "UNLOCK" => {
                self.lock = None;
                (200, Vec::new())
            }
            _ => (405, Vec::new()),
        }
    }
}

fn lock(kept: &Mutex<Kept>) -> MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, kept: &Arc<Mutex<Kept>>, ended: &AtomicBool) {
    for connection in listener.incoming() {
        if ended.load(Ordering::SeqCst) {
            return;
        }
        let Ok(stream) = connection else { continue };
        let kept = kept.clone();
        thread::spawn(move || {
            if let Err(error) = serve(&stream, &kept) {
                eprintln!("state backend: {error:#}");
            }
        });
    }
}

/// One request on one connection, which is closed after the answer.
fn serve(mut stream: &TcpStream, kept: &Mutex<Kept>) -> Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let before = head.len();
        (&mut reader).take(LONGEST_HEAD).read_until(b'\n', &mut head)?;
        match &head[before..] {
            // Opened ahead of need and never used.
            [] if before == 0 => return Ok(()),
            [] => bail!("a request ended within its head"),
            b"\r\n" | b"\n" => break,
            _ if head.len() as u64 > LONGEST_HEAD => bail!("a request with a head too long"),
            _ => {}
        }
    }
    let head = String::from_utf8(head).context("a request with a head that is no UTF-8")?;
    let (method, length) = read_head(&head)?;
    if length > LONGEST_BODY {
        bail!("a request with a body of {length} bytes");
    }
    let mut body = Vec::new();
    if reader.take(length).read_to_end(&mut body)? as u64 != length {
        bail!("a request ended within its body");
    }
    let (status, answer) = lock(kept).answer(method, body);
    let head = format!(
        "HTTP/1.1 {status} -\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        answer.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(&answer)?;
    Ok(())
}

/// Method, and length of the body.
fn read_head(head: &str) -> Result<(&str, u64)> {
    let mut lines = head.lines();
    let method = lines
        .next()
        .and_then(|line| line.split_once(' '))
        .map(|(method, _)| method)
        .context("a request without a method")?;
    let mut length = 0;
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        if name.eq_ignore_ascii_case("content-length") {
            length = value
                .trim()
                .parse()
                .context("a request with a length that is no number")?;
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            bail!("a request without a length");
        }
    }
    Ok((method, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_kept_and_locked() {
        let mut kept = Kept::default();
        let mut check = |method: &str, body: &str, status: u16, answer: &str| {
            assert_eq!(
                kept.answer(method, body.into()),
                (status, answer.as_bytes().to_vec()),
                "{method} {body}"
            );
        };
        check("GET", "", 404, "");
        check("LOCK", "first", 200, "");
        check("LOCK", "second", 423, "first");
        check("POST", "state", 200, "");
        check("GET", "", 200, "state");
        check("UNLOCK", "first", 200, "");
        check("LOCK", "second", 200, "");
        check("DELETE", "", 200, "");
        check("GET", "", 404, "");
        check("PUT", "state", 405, "");
    }

    #[test]
    fn heads_are_read() {
        assert_eq!(
            read_head("POST /state?ID=1 HTTP/1.1\r\nHost: a:1\r\ncontent-length: 12\r\n\r\n").unwrap(),
            ("POST", 12)
        );
        assert_eq!(read_head("GET /state HTTP/1.1\r\n\r\n").unwrap(), ("GET", 0));
        for head in [
            "",
            "GET",
            "POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        ] {
            assert!(read_head(head).is_err(), "{head}");
        }
    }
}
