//! A plugin made for this suite: it has everything that the protocol has, and goes wrong where and how it is told.
//!
//! Runs as this very program in a process of its own. It shares the messages with the crate under test and nothing else:
//! its side of the handshake, of TLS and of gRPC is written down here, frame by frame, so that it can break each.

mod answers;
mod instances;
mod schema;
mod script;
mod serve;

use std::{io::Write, sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use rustls::{
    ServerConfig,
    pki_types::{CertificateDer, PrivateKeyDer},
};
use tokio::net::UnixListener;
use tokio_rustls::TlsAcceptor;

pub(crate) use answers::{LARGE, MANY};
pub(crate) use script::Script;
pub(crate) use serve::FLOOD_LINES;

/// What a plugin built with go-plugin says to a person who starts it.
const NOT_FOR_PEOPLE: &str = "This binary is a plugin. These are not meant to be executed directly.";

/// Is the plugin, to the end of this process.
pub(crate) fn run(script: Script) -> ! {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(live(Arc::new(script)));
    std::process::exit(0)
}

fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    let _ = writeln!(output, "{line}");
    let _ = output.flush();
}

fn complain(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

async fn for_ever() {
    std::future::pending().await
}

struct Certificate {
    der: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

fn certificate() -> Certificate {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    Certificate {
        der: params.self_signed(&key).unwrap().der().clone(),
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
    }
}

async fn live(script: Arc<Script>) {
    let own = certificate();
    let shown = STANDARD_NO_PAD.encode(&own.der);
    let socket = std::path::Path::new(&std::env::var_os("PLUGIN_UNIX_SOCKET_DIR").unwrap()).join("model");
    let path = socket.display();
    let generation = script.generation;
    let line = |core: &str, generation: &str, network: &str, address: &str, certificate: &str| {
        say(&format!(
            "{core}|{generation}|{network}|{address}|grpc|{certificate}"
        ));
    };
    let usual = |certificate: &str| {
        line(
            "1",
            &generation.to_string(),
            "unix",
            &path.to_string(),
            certificate,
        )
    };
    let listener = UnixListener::bind(&socket).unwrap();
    let mut is_tls = true;
    match script.start.as_str() {
        "" => usual(&shown),
        "exit" => std::process::exit(3),
        "cookie" => {
            complain(NOT_FOR_PEOPLE);
            std::process::exit(1);
        }
        "panic" => {
            complain("panic: no luck with token-1\n\ngoroutine 1 [running]:");
            std::process::exit(2);
        }
        "garbage" => {
            let _ = std::io::stdout().write_all(b"\xff\xfe\x00garbage\n");
            let _ = std::io::stdout().flush();
        }
        "endless" => loop {
            let _ = std::io::stdout().write_all(&[b'x'; 4096]);
        },
        "silent" => {}
        "core" => line("2", "6", "unix", &path.to_string(), &shown),
        "generation" => line("1", "4", "unix", &path.to_string(), &shown),
        "netrpc" => say(&format!("1|5|unix|{path}|netrpc|{shown}")),
        "network" => line("1", "6", "pipe", &path.to_string(), &shown),
        "elsewhere" => line("1", "6", "tcp", "192.0.2.1:4433", &shown),
        "nobody" => line("1", "6", "unix", &format!("{path}-gone"), &shown),
        "no-certificate" => usual(""),
        "bad-certificate" => usual("!!!"),
        "nonsense-certificate" => usual(&STANDARD_NO_PAD.encode(b"no certificate at all")),
        "other-certificate" => usual(&STANDARD_NO_PAD.encode(&certificate().der)),
        "no-tls" => {
            is_tls = false;
            usual(&shown);
        }
        "deaf" => {
            usual(&shown);
            // The connection stands, and nobody ever speaks on it.
            let connection = listener.accept().await;
            for_ever().await;
            drop(connection);
        }
        "die-after-handshake" => {
            usual(&shown);
            std::process::exit(4);
        }
        other => {
            complain(&format!("no such start: {other}"));
            std::process::exit(99);
        }
    }
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![own.der], own.key);
    let mut config = config.unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let tls = TlsAcceptor::from(Arc::new(config));
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            return;
        };
        let script = script.clone();
        if is_tls {
            let tls = tls.clone();
            tokio::spawn(async move {
                if let Ok(stream) = tls.accept(stream).await {
                    serve::connection(stream, script).await;
                }
            });
        } else {
            tokio::spawn(serve::connection(stream, script));
        }
        // A plugin has one client; a second connection would show that it was made anew.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
