//! A stand-in for an OCI registry, with an account and tokens as registries have them.

use std::collections::BTreeMap;

use ashlar_sources::{Credentials, Fault, FaultKind, Limits, OciPlace, OciReference};
use sha2::{Digest, Sha256};

use crate::{
    Place, files,
    pack::{tar_gz, zip},
    place, place_with,
    server::{Server, answer, redirect, with},
    some,
};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex::encode(Sha256::digest(bytes)))
}

/// Manifests by tag, and blobs; each layer with its media type and annotations.
#[derive(Default)]
struct Store {
    manifests: BTreeMap<String, Vec<u8>>,
    blobs: BTreeMap<String, Vec<u8>>,
}

impl Store {
    fn push(&mut self, tag: &str, kind: &str, layers: &[(&str, &[u8], &str)]) -> String {
        let mut told = Vec::new();
        for (media_type, bytes, annotations) in layers {
            let (digest, size) = (digest(bytes), bytes.len());
            told.push(format!(
                r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{size},"annotations":{{{annotations}}}}}"#
            ));
            self.blobs.insert(digest, bytes.to_vec());
        }
        let manifest = format!(
            r#"{{"schemaVersion":2,"mediaType":"{kind}","artifactType":"x","layers":[{}]}}"#,
            told.join(",")
        );
        let digest = digest(manifest.as_bytes());
        self.manifests
            .insert(tag.to_owned(), manifest.clone().into_bytes());
        self.manifests.insert(digest.clone(), manifest.into_bytes());
        digest
    }

    /// Serves it; blobs come from elsewhere, where no token is to be seen.
    async fn serve(self) -> (Server, Server) {
        let blobs = self.blobs;
        let elsewhere = Server::start(move |asked| {
            assert_eq!(asked.header("authorization"), None);
            let blob = blobs.get(asked.path.trim_start_matches('/'));
            blob.map_or_else(|| answer(404, ""), |blob| answer(200, blob.clone()))
        })
        .await;
        let place = elsewhere.url("/");
        let manifests = self.manifests;
        let server = Server::start(move |asked| {
            if asked.path == "/token" {
                assert_eq!(asked.query, "service=s&scope=repository%3Ateam%2Fapp%3Apull");
                return match asked.header("authorization") {
                    Some("Basic bWU6czNjcmV0") => answer(200, r#"{"token":"t"}"#),
                    None => answer(200, r#"{"access_token":"anonymous"}"#),
                    Some(_) => answer(401, ""),
                };
            }
            if asked.header("authorization") != Some("Bearer t") {
                let host = asked.header("host").unwrap();
                let challenge = format!("Bearer realm=\"http://{host}/token\",service=\"s\",scope=\"x\"");
                return with(answer(401, ""), "www-authenticate", &challenge);
            }
            let path = asked.path.strip_prefix("/v2/team/app/").unwrap();
            if let Some(reference) = path.strip_prefix("manifests/") {
                let found = manifests.get(reference);
                return found.map_or_else(|| answer(404, ""), |found| answer(200, found.clone()));
            }
            if path == "tags/list" && asked.query == "n=1000" {
                let page = answer(200, r#"{"tags":["latest","v1.0.0"]}"#);
                return with(
                    page,
                    "link",
                    "</v2/team/app/tags/list?n=1000&last=v1.0.0>; rel=\"next\"",
                );
            }
            if path == "tags/list" {
                return answer(200, r#"{"tags":["v1.1.0","v2.0.0"]}"#);
            }
            redirect(&format!("{place}{}", path.strip_prefix("blobs/").unwrap()))
        })
        .await;
        (server, elsewhere)
    }
}

async fn fetch(
    place: &Place,
    server: &Server,
    reference: OciReference,
    account: &Credentials,
) -> Result<(String, BTreeMap<String, String>), Fault> {
    let artifact = OciPlace {
        url: format!("oci://{}/team/app", server.address),
        reference,
    };
    let content = place.fetcher.oci(&artifact, account).await?;
    assert_eq!(
        place.fetcher.oci_revision(&artifact, account).await?,
        content.revision
    );
    Ok((content.revision.clone(), files(&content)))
}

#[tokio::test(flavor = "multi_thread")]
async fn artifacts_of_several_makers_are_unpacked() {
    let place = place();
    let packed = tar_gz(&[("main.tf", "flux")]);
    let zipped = zip(&[("main.tf", "tofu")]);
    let folder = tar_gz(&[("modules/a.tf", "a")]);
    let mut store = Store::default();
    let flux = store.push(
        "v1.0.0",
        MANIFEST,
        &[("application/vnd.cncf.flux.content.v1.tar+gzip", &packed, "")],
    );
    let tofu = store.push(
        "v1.1.0",
        MANIFEST,
        &[("text/plain", b"x", ""), ("archive/zip", &zipped, "")],
    );
    let oras = store.push(
        "oras",
        MANIFEST,
        &[
            (
                "application/vnd.oci.image.layer.v1.tar+gzip",
                &folder,
                r#""org.opencontainers.image.title":"modules","io.deis.oras.content.unpack":"true""#,
            ),
            (
                "text/plain",
                b"plain",
                r#""org.opencontainers.image.title":"main.tf""#,
            ),
        ],
    );
    store.push("odd", MANIFEST, &[("application/json", b"{}", "")]);
    store.push("index", "application/vnd.oci.image.index.v1+json", &[]);
    store.push(
        "out",
        MANIFEST,
        &[("text/plain", b"x", r#""org.opencontainers.image.title":"../x""#)],
    );
    let (server, elsewhere) = store.serve().await;
    let account = Credentials::account("me", "s3cret");
    let tag = |tag: &str| OciReference::Tag(tag.to_owned());
    let check = async |reference: OciReference, revision: &str, want: &[(&str, &str)]| {
        let (got, files) = fetch(&place, &server, reference.clone(), &account).await.unwrap();
        assert_eq!((got.as_str(), files), (revision, some(want)), "{reference:?}");
    };
    check(tag("v1.0.0"), &flux, &[("main.tf", "flux")]).await;
    let sent = elsewhere.asked().len();
    check(OciReference::Digest(flux.clone()), &flux, &[("main.tf", "flux")]).await;
    assert_eq!(elsewhere.asked().len(), sent, "what is there is not sent again");
    check(
        OciReference::Semver("1.x".to_owned()),
        &tofu,
        &[("main.tf", "tofu")],
    )
    .await;
    check(tag("oras"), &oras, &[("main.tf", "plain"), ("modules/a.tf", "a")]).await;
    for (reference, kind, part) in [
        (tag("none"), FaultKind::Absent, "404"),
        (tag("odd"), FaultKind::Asked, "no layer with files"),
        (tag("index"), FaultKind::Asked, "list of images"),
        (tag("out"), FaultKind::Refused, "leads out"),
        (tag("../x"), FaultKind::Asked, "neither a tag"),
        (
            OciReference::Semver("9.x".to_owned()),
            FaultKind::Absent,
            "no tag",
        ),
    ] {
        let fault = fetch(&place, &server, reference, &account).await.unwrap_err();
        assert!(fault.kind == kind && fault.text.contains(part), "{fault:?}");
    }
    for stranger in [Credentials::default(), Credentials::account("me", "other")] {
        let fault = fetch(&place, &server, tag("v1.0.0"), &stranger)
            .await
            .unwrap_err();
        assert_eq!(fault.kind, FaultKind::Denied, "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_sent_must_have_its_digest() {
    let place = place();
    let mut store = Store::default();
    let packed = tar_gz(&[("main.tf", "x")]);
    let layer = [("application/vnd.cncf.flux.content.v1.tar+gzip", &packed[..], "")];
    let manifest = store.push("v1", MANIFEST, &layer);
    store.blobs.insert(digest(&packed), tar_gz(&[("main.tf", "y")]));
    let other = store.push("other", MANIFEST, &[]);
    let swapped = store.manifests[&other].clone();
    store.manifests.insert(manifest.clone(), swapped);
    let (server, _elsewhere) = store.serve().await;
    let account = Credentials::account("me", "s3cret");
    for reference in [OciReference::Tag("v1".to_owned()), OciReference::Digest(manifest)] {
        let fault = fetch(&place, &server, reference, &account).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Changed, "{fault}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn layers_count_as_they_come_and_may_not_be_too_many() {
    let place = place_with(Limits {
        package_bytes: 10_000,
        ..Limits::default()
    });
    let mut store = Store::default();
    let file = |name: &str| format!(r#""org.opencontainers.image.title":"{name}""#);
    let (one, two) = (vec![b'1'; 6000], vec![b'2'; 6000]);
    let (a, b) = (file("a"), file("b"));
    let layers = [("text/plain", &one[..], &*a), ("text/plain", &two[..], &*b)];
    store.push("one", MANIFEST, &layers[..1]);
    store.push("both", MANIFEST, &layers);
    // It says that they are small.
    let told = String::from_utf8(store.manifests["both"].clone()).unwrap();
    let told = told.replace("\"size\":6000", "\"size\":1");
    store.manifests.insert("both".to_owned(), told.into_bytes());
    let names: Vec<String> = (0..1001).map(|n| file(&n.to_string())).collect();
    let many: Vec<(&str, &[u8], &str)> = names
        .iter()
        .map(|name| ("text/plain", &b"x"[..], &**name))
        .collect();
    store.push("many", MANIFEST, &many);
    let (server, _elsewhere) = store.serve().await;
    let account = Credentials::account("me", "s3cret");
    let tag = |tag: &str| OciReference::Tag(tag.to_owned());
    fetch(&place, &server, tag("one"), &account).await.unwrap();
    for (name, part) in [
        ("both", "more than 10000 bytes"),
        ("many", "more than 1000 layers"),
    ] {
        let fault = fetch(&place, &server, tag(name), &account).await.unwrap_err();
        assert!(
            fault.kind == FaultKind::Refused && fault.text.contains(part),
            "{fault:?}"
        );
    }
}
