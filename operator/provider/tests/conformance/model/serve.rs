//! The model's gRPC: HTTP/2 streams with a message each way, or what stands in their place.

use std::{
    io::Write,
    sync::{Arc, OnceLock},
    time::Duration,
};

use bytes::{BufMut, Bytes, BytesMut};
use h2::{RecvStream, SendStream, server::SendResponse};
use http::{HeaderMap, Response};
use prost::Message;
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Script, answers, complain, for_ever};
use crate::{proto::goplugin::StdioData, rpcs};

/// How large the window is: messages of 100 MB pass in a second.
const WINDOW: u32 = 16 << 20;
/// What a flood prints.
pub(crate) const FLOOD_LINES: usize = 2_000_000;

pub(super) async fn connection(stream: impl AsyncRead + AsyncWrite + Unpin, script: Arc<Script>) {
    let mut builder = h2::server::Builder::new();
    builder
        .initial_window_size(WINDOW)
        .initial_connection_window_size(WINDOW);
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else {
        return;
    };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let script = script.clone();
        let (head, body) = request.into_parts();
        tokio::spawn(async move {
            let path = head.uri.path().to_owned();
            // What cannot be sent is not missed: then the connection has ended.
            let _ = call(&path, body, respond, &script).await;
        });
    }
}

async fn message(mut body: RecvStream) -> Result<Vec<u8>, h2::Error> {
    let mut whole = Vec::new();
    while let Some(part) = body.data().await {
        let part = part?;
        body.flow_control().release_capacity(part.len())?;
        whole.extend_from_slice(&part);
    }
    // One byte that says whether it is compressed, four with its length.
    whole.drain(..5.min(whole.len()));
    Ok(whole)
}

fn note(script: &Script, call: &str) {
    let file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(&script.calls);
    if let Ok(mut file) = file {
        let _ = file.write_all(format!("{call}\n").as_bytes());
    }
}

async fn call(
    path: &str,
    body: RecvStream,
    mut respond: SendResponse<Bytes>,
    script: &Script,
) -> Result<(), h2::Error> {
    let Some((service, name)) = path.trim_start_matches('/').split_once('/') else {
        return refuse(&mut respond, 12);
    };
    match (service, name) {
        ("plugin.GRPCController", "Shutdown") if script.fault != "stubborn" => std::process::exit(0),
        ("plugin.GRPCController", _) => {
            for_ever().await;
            return Ok(());
        }
        ("plugin.GRPCStdio", _) => return stdio(&mut respond, script).await,
        _ => {}
    }
    let generation = script.generation;
    if service != format!("tfplugin{generation}.Provider") {
        return refuse(&mut respond, 12);
    }
    let name = rpcs::canonical(generation, name);
    let request = message(body).await?;
    note(script, name);
    let fault = script.fault(name);
    match fault {
        "die" => {
            complain("panic: the model broke over token-1");
            std::process::exit(2);
        }
        "hang" => for_ever().await,
        "not-grpc" => {
            let answer = Response::builder().status(404).body(()).unwrap();
            let mut body = respond.send_response(answer, false)?;
            return body.send_data("<html>not here</html>".into(), true);
        }
        "flood" => flood(),
        "logs" => logs(),
        _ => {}
    }
    if let Some(code) = fault.strip_prefix("status-") {
        return refuse(&mut respond, code.parse().unwrap());
    }
    let Some(answers) = answers::all(script, name, &request) else {
        return refuse(&mut respond, 12);
    };
    let mut body = respond.send_response(head(), false)?;
    match fault {
        "garble" => send(&mut body, &[0xff; 16])?,
        // More is promised than comes.
        "short" => body.send_data(Bytes::from_static(&[0, 0, 0, 1, 0, 1, 2, 3]), false)?,
        "huge" => {
            let mut start = BytesMut::new();
            start.put_u8(0);
            start.put_u32(257 << 20);
            start.put_bytes(0, 1 << 20);
            body.send_data(start.freeze(), false)?;
            tokio::time::sleep(Duration::from_secs(600)).await;
        }
        "odd" => {
            for mut answer in answers {
                add_unknown_fields(&mut answer);
                send(&mut body, &answer)?;
            }
        }
        _ => {
            for (at, answer) in answers.into_iter().enumerate() {
                // As long as it takes to be read: too many small frames at once are an attack.
                if at % 1000 == 999 {
                    tokio::time::sleep(Duration::from_millis(150)).await;
                }
                send(&mut body, &answer)?;
            }
        }
    }
    body.send_trailers(status(0))
}

fn head() -> Response<()> {
    let head = Response::builder().header("content-type", "application/grpc");
    head.body(()).unwrap()
}

fn status(code: u8) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", code.to_string().parse().unwrap());
    trailers.insert("grpc-message", "the model says no".parse().unwrap());
    trailers
}

fn refuse(respond: &mut SendResponse<Bytes>, code: u8) -> Result<(), h2::Error> {
    respond.send_response(head(), false)?.send_trailers(status(code))
}

fn send(body: &mut SendStream<Bytes>, message: &[u8]) -> Result<(), h2::Error> {
    let mut frame = BytesMut::with_capacity(5 + message.len());
    frame.put_u8(0);
    frame.put_u32(u32::try_from(message.len()).unwrap());
    frame.put_slice(message);
    body.send_data(frame.freeze(), false)
}

/// Fields of protocols to come, one of each kind: a number, eight bytes, text, four bytes.
fn add_unknown_fields(message: &mut Vec<u8>) {
    let (number, eight, text, four) = (1000 << 3, 1001 << 3 | 1, 1002 << 3 | 2, 1003 << 3 | 5);
    for (key, content) in [
        (number, &[7][..]),
        (eight, &[1; 8]),
        (text, b"\x04news"),
        (four, &[2; 4]),
    ] {
        prost::encoding::encode_varint(key, message);
        message.extend_from_slice(content);
    }
}

/// What the plugin prints through its frame.
async fn stdio(respond: &mut SendResponse<Bytes>, script: &Script) -> Result<(), h2::Error> {
    let mut body = respond.send_response(head(), false)?;
    if script.fault == "logs" {
        let data = br#"{"@level":"warn","@message":"through the frame","key":"token-1"}"#.to_vec();
        send(&mut body, &StdioData { channel: 2, data }.encode_to_vec())?;
    }
    for_ever().await;
    Ok(())
}

fn flood() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let line = [b'y'; 99];
        let mut output = std::io::BufWriter::new(std::io::stderr());
        for _ in 0..FLOOD_LINES {
            let _ = output.write_all(&line);
            let _ = output.write_all(b"\n");
        }
        // And one that does not end.
        let _ = output.write_all(&vec![b'z'; 8 << 20]);
        let _ = output.write_all(b"\npanic: seen in spite of all\n");
        let _ = output.flush();
    });
}

fn logs() {
    for level in ["error", "warn", "info", "debug", "trace"] {
        complain(&format!(
            r#"{{"@level":"{level}","@message":"at {level} with token-1","@module":"model","key":"token-1"}}"#
        ));
    }
    complain("plain text with token-1");
}
