//! `ashlar sidecar` when it is told to end: with the signals of a Pod that ends, and a provider that does nothing but be there.

#![allow(clippy::unwrap_used)]

use std::{
    io::{Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::PathBuf,
    process::{Child, Command},
    time::{Duration, Instant},
};

/// A sidecar that runs, and a connection through it that stands.
struct Setup {
    folder: tempfile::TempDir,
    child: Child,
}

impl Setup {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("inside");
        // What stands behind the provider's address sends back what it is sent.
        let listener = UnixListener::bind(&inside).unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                std::thread::spawn(move || {
                    let mut byte = [0];
                    while stream.read_exact(&mut byte).is_ok() && stream.write_all(&byte).is_ok() {}
                });
            }
        });
        let script = format!("echo '1|6|unix|{}|grpc'; exec sleep 600", inside.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_ashlar"));
        command
            .arg("sidecar")
            .arg("--listen")
            .arg(format!("unix:{}", folder.path().join("s").display()))
            .args(["/bin/sh", "--", "-c", &script]);
        let child = command.spawn().unwrap();
        Self { folder, child }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    fn connection(&self) -> UnixStream {
        let mut connection = None;
        until("it takes a connection", || {
            connection = UnixStream::connect(self.socket()).ok();
            connection.is_some()
        });
        let mut connection = connection.unwrap();
        echoes(&mut connection);
        connection
    }

    fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
    }

    fn ends(&mut self) {
        let child = &mut self.child;
        until("it ends", || child.try_wait().unwrap().is_some());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Setup {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < Duration::from_secs(30), "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn echoes(connection: &mut UnixStream) {
    connection.write_all(b"x").unwrap();
    let mut byte = [0];
    connection.read_exact(&mut byte).unwrap();
    assert_eq!(&byte, b"x");
}

#[test]
fn told_to_terminate_it_serves_who_is_connected_and_nobody_else() {
    let mut setup = Setup::new();
    let mut connection = setup.connection();
    setup.send("-TERM");
    until("it takes nobody else", || {
        UnixStream::connect(setup.socket()).is_err()
    });
    echoes(&mut connection);
    assert!(setup.child.try_wait().unwrap().is_none());
    drop(connection);
    setup.ends();
}

#[test]
fn told_twice_or_interrupted_it_ends_at_once() {
    for signals in [["-TERM", "-TERM"], ["-TERM", "-INT"]] {
        let mut setup = Setup::new();
        let mut connection = setup.connection();
        setup.send(signals[0]);
        until("it takes nobody else", || {
            UnixStream::connect(setup.socket()).is_err()
        });
        echoes(&mut connection);
        setup.send(signals[1]);
        setup.ends();
    }
    let mut setup = Setup::new();
    let _connection = setup.connection();
    setup.send("-INT");
    setup.ends();
    // And where nobody is connected there is nothing to wait for.
    let mut setup = Setup::new();
    drop(setup.connection());
    setup.send("-TERM");
    setup.ends();
}
