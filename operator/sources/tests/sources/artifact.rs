//! Flux artifacts.

use ashlar_sources::FaultKind;
use sha2::{Digest, Sha256};

use crate::{files, pack::tar_gz, place, server, some};

#[tokio::test(flavor = "multi_thread")]
async fn an_artifact_is_what_its_digest_says() {
    let place = place();
    let bytes = tar_gz(&[("main.tf", "x")]);
    let digest = format!("sha256:{}", hex::encode(Sha256::digest(&bytes)));
    let served = bytes.clone();
    let server = server::Server::start(move |asked| match &*asked.path {
        "/good.tar.gz" => server::answer(200, served.clone()),
        _ => server::answer(404, ""),
    })
    .await;
    let url = server.url("/good.tar.gz");
    let other = format!("sha256:{}", "0".repeat(64));
    let fault = place
        .fetcher
        .artifact(&url, &other, "main@sha1:1")
        .await
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Changed, "{fault}");
    let content = place
        .fetcher
        .artifact(&url, &digest, "main@sha1:1")
        .await
        .unwrap();
    assert_eq!(files(&content), some(&[("main.tf", "x")]));
    assert_eq!(content.revision, "main@sha1:1");
    let asked = server.asked().len();
    let again = place
        .fetcher
        .artifact(&url, &digest, "main@sha1:2")
        .await
        .unwrap();
    assert_eq!((again.digest, &*again.revision), (content.digest, "main@sha1:2"));
    assert_eq!(server.asked().len(), asked, "it was there");
    // Nobody gets by a digest alone what lay elsewhere.
    let gone = server.url("/gone.tar.gz");
    let fault = place.fetcher.artifact(&gone, &digest, "r").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Absent);
    let fault = place.fetcher.artifact(&url, "md5:1", "r").await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Asked);
}
