//! Servers that send without an end, too slowly, or not at all.

use std::time::{Duration, Instant};

use ashlar_addr::Constraints;
use ashlar_config::source::ModuleSource;
use ashlar_sources::{Credentials, Fault, FaultKind, GitPlace, Keyring, Limits, Reference};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinHandle,
};

use crate::{place_with, server::Server, server::redirect};

/// Says the head, then the same piece again and again, with a pause between.
struct Raw {
    address: std::net::SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn raw(head: &str, piece: Vec<u8>, pause: Duration) -> Raw {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let head = head.to_owned();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (head, piece) = (head.clone(), piece.clone());
            tokio::spawn(async move {
                let mut asked = [0; 4096];
                if stream.read(&mut asked).await.is_err() || stream.write_all(head.as_bytes()).await.is_err()
                {
                    return;
                }
                while stream.write_all(&piece).await.is_ok() {
                    tokio::time::sleep(pause).await;
                }
            });
        }
    });
    Raw { address, task }
}

const ENDLESS: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/x-git-upload-pack-advertisement\r\n\r\n";

async fn fetch(limits: Limits, path: &str, server: &str) -> Fault {
    let place = place_with(limits);
    let source = ModuleSource::parse(&format!("{server}{path}"), false).unwrap();
    let told = place
        .fetcher
        .module(
            &source,
            &Constraints::default(),
            &Keyring::default(),
            None,
            &|_, _| {},
        )
        .await;
    let left = std::fs::read_dir(place.root.path().join("cache"))
        .unwrap()
        .count();
    assert_eq!(left, 2, "nothing half done is left");
    told.unwrap_err().fault
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_answer_is_cut_at_its_limit() {
    let server = raw(ENDLESS, vec![b'x'; 64 << 10], Duration::ZERO).await;
    let url = format!("http://{}", server.address);
    let limits = || Limits {
        package_bytes: 1 << 20,
        ..Limits::default()
    };
    for (path, part) in [("/m.zip", "more than 1 MiB"), ("/page", "more than 1 MiB")] {
        let fault = fetch(limits(), path, &url).await;
        assert!(
            fault.kind == FaultKind::Refused && fault.text.contains(part),
            "{fault:?}"
        );
    }
    // A length that is promised is not waited for.
    let promising = raw(
        "HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n",
        vec![],
        Duration::from_secs(60),
    )
    .await;
    let fault = fetch(limits(), "/m.zip", &format!("http://{}", promising.address)).await;
    assert_eq!(fault.kind, FaultKind::Refused, "{fault:?}");
    // A list of references without an end.
    let mut packet = b"fff0".to_vec();
    packet.extend(format!("{} refs/heads/", "a".repeat(40)).bytes());
    packet.resize(0xfff0, b'n');
    let head = format!("{ENDLESS}0040{} HEAD\0side-band-64k\n", "a".repeat(40));
    let endless = raw(&head, packet, Duration::ZERO).await;
    let fault = fetch(limits(), "/r", &format!("git::http://{}", endless.address)).await;
    assert_eq!(fault.kind, FaultKind::Refused, "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_answer_ends_with_the_time() {
    let limits = || Limits {
        time: Duration::from_millis(300),
        ..Limits::default()
    };
    let drop_by_drop = raw(ENDLESS, vec![b'1'], Duration::from_millis(20)).await;
    let silent = raw("", vec![], Duration::from_secs(60)).await;
    for server in [&drop_by_drop, &silent] {
        for (getter, path) in [
            ("", "/m.zip"),
            ("", "/page"),
            ("git::", "/r"),
            ("s3::", "/b/k.zip"),
        ] {
            let begun = Instant::now();
            let fault = fetch(limits(), path, &format!("{getter}http://{}", server.address)).await;
            assert!(
                fault.text.contains("longer than 0.3 seconds"),
                "{getter}{path}: {fault:?}"
            );
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    }
    // So does a server of SSH that says nothing.
    let place = place_with(limits());
    let credentials = Credentials {
        known_hosts: Some(format!(
            "* {}",
            crate::ssh_server::key("ed25519").1.to_openssh().unwrap()
        )),
        ..Credentials::default()
    };
    let repository = GitPlace::new(format!("ssh://git@{}/r", silent.address), Reference::Head);
    let fault = place.fetcher.git(&repository, &credentials).await.unwrap_err();
    assert!(fault.text.contains("longer than 0.3 seconds"), "{fault:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_have_an_end() {
    let around = Server::start(|asked| redirect(&format!("{}x", asked.path))).await;
    for path in ["/m.zip", "/page"] {
        let fault = fetch(Limits::default(), path, &around.url("")).await;
        assert!(
            fault.kind == FaultKind::Refused && fault.text.contains("more than 10 times"),
            "{fault:?}"
        );
    }
    assert_eq!(around.asked().len(), 22);
}
