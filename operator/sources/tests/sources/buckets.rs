//! Stand-ins for S3 and for Google's storage, which check how they are asked.

use ashlar_addr::Constraints;
use ashlar_config::source::ModuleSource;
use ashlar_sources::{Credentials, FaultKind, Keyring};

use crate::{
    files,
    pack::zip,
    place,
    server::{Server, answer, with},
    some,
};

#[tokio::test(flavor = "multi_thread")]
async fn s3_is_asked_with_signatures() {
    let place = place();
    let server = Server::start(|asked| {
        if let Some(authorization) = asked.header("authorization") {
            // The signature itself is checked where it is made.
            assert!(authorization.starts_with("AWS4-HMAC-SHA256 Credential=KEY/"), "{authorization}");
            assert!(authorization.contains("/eu-test-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, "));
            assert_eq!(asked.header("x-amz-security-token"), Some("TOKEN"));
        } else if !asked.path.starts_with("/open/") {
            return answer(403, "");
        }
        let key = "<Contents><Key>dir/";
        match (&*asked.path, &*asked.query) {
            ("/bucket/dir/m.zip", "") | ("/open/m.zip", "") => answer(200, zip(&[("main.tf", "zip")])),
            ("/bucket/dir/m.zip", "versionId=7") => answer(200, zip(&[("main.tf", "seven")])),
            ("/bucket", "list-type=2&prefix=dir%2F") => answer(200, format!(
                "<IsTruncated>true</IsTruncated>{key}a b.tf</Key></Contents>{key}</Key></Contents><NextContinuationToken>n/1</NextContinuationToken>"
            )),
            ("/bucket", "continuation-token=n%2F1&list-type=2&prefix=dir%2F") => {
                answer(200, format!("<IsTruncated>false</IsTruncated>{key}sub/c.tf</Key></Contents>"))
            }
            ("/bucket", _) => answer(200, ""),
            ("/bucket/dir/a%20b.tf", "") => answer(200, "ab"),
            ("/bucket/dir/sub/c.tf", "") => answer(200, "c"),
            ("/away/m.zip", _) => with(answer(301, ""), "x-amz-bucket-region", "eu-north-1"),
            _ => answer(404, ""),
        }
    })
    .await;
    let mut ring = Keyring::default();
    let account = Credentials {
        access_key: Some(("KEY".to_owned(), "SECRET".to_owned(), Some("TOKEN".to_owned()))),
        ..Credentials::default()
    };
    ring.add(&server.address.to_string(), account);
    let fetch = async |path: &str, ring: &Keyring| {
        let source = ModuleSource::parse(&format!("s3::{}", server.url(path)), false).unwrap();
        let fetched = place
            .fetcher
            .module(&source, &Constraints::default(), ring, None, &|_, _| {})
            .await;
        fetched
            .map(|(content, _)| files(&content))
            .map_err(|fault| fault.fault)
    };
    let region = "region=eu-test-1";
    let zip = fetch(&format!("/bucket/dir/m.zip?{region}"), &ring)
        .await
        .unwrap();
    assert_eq!(zip, some(&[("main.tf", "zip")]));
    let seven = fetch(&format!("/bucket/dir/m.zip?{region}&version=7"), &ring)
        .await
        .unwrap();
    assert_eq!(seven, some(&[("main.tf", "seven")]));
    let folder = fetch(&format!("/bucket/dir?{region}"), &ring).await.unwrap();
    assert_eq!(folder, some(&[("a b.tf", "ab"), ("sub/c.tf", "c")]));
    let nobody = Keyring::default();
    let open = fetch("/open/m.zip", &nobody).await.unwrap();
    assert_eq!(open, some(&[("main.tf", "zip")]));
    for (path, ring, kind, part) in [
        ("/bucket/dir/m.zip", &nobody, FaultKind::Denied, "403"),
        (
            "/away/m.zip?region=eu-test-1",
            &ring,
            FaultKind::Asked,
            "eu-north-1",
        ),
        (
            "/bucket/none?region=eu-test-1",
            &ring,
            FaultKind::Absent,
            "nothing at s3://bucket/none",
        ),
    ] {
        let fault = fetch(path, ring).await.unwrap_err();
        assert!(fault.kind == kind && fault.text.contains(part), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn googles_storage_is_asked_as_whoever_there_is() {
    let place = place();
    let server = Server::start(|asked| {
        if asked.path == "/token" {
            let body = String::from_utf8(asked.body.clone()).unwrap();
            let jwt = body.split("assertion=").nth(1).unwrap();
            assert_eq!(jwt.split('.').count(), 3);
            return answer(200, r#"{"access_token":"t","expires_in":60}"#);
        }
        if asked.header("authorization") != Some("Bearer t") {
            return answer(401, "");
        }
        match (&*asked.path, &*asked.query) {
            ("/storage/v1/b/bucket/o/dir%2Fm.zip", "alt=media") => answer(200, zip(&[("main.tf", "zip")])),
            ("/storage/v1/b/bucket/o", "prefix=dir%2F") => answer(
                200,
                r#"{"items":[{"name":"dir/"},{"name":"dir/a.tf"}],"nextPageToken":"n"}"#,
            ),
            ("/storage/v1/b/bucket/o", "prefix=dir%2F&pageToken=n") => {
                answer(200, r#"{"items":[{"name":"dir/b/c.tf"}]}"#)
            }
            ("/storage/v1/b/bucket/o/dir%2Fa.tf", _) => answer(200, "a"),
            ("/storage/v1/b/bucket/o/dir%2Fb%2Fc.tf", _) => answer(200, "c"),
            _ => answer(404, ""),
        }
    })
    .await;
    let fetch = async |path: &str, credentials: Credentials| {
        let mut ring = Keyring::default();
        ring.add(&server.address.to_string(), credentials);
        let source = ModuleSource::parse(&format!("gcs::{}", server.url(path)), false).unwrap();
        let fetched = place
            .fetcher
            .module(&source, &Constraints::default(), &ring, None, &|_, _| {})
            .await;
        fetched
            .map(|(content, _)| files(&content))
            .map_err(|fault| fault.fault)
    };
    let key = std::process::Command::new("openssl")
        .args(["genpkey", "-algorithm", "RSA", "-quiet"])
        .output()
        .unwrap();
    assert!(key.status.success());
    let account = Credentials {
        service_account: Some(format!(
            r#"{{"client_email":"x@y","token_uri":"{}","private_key":{:?}}}"#,
            server.url("/token"),
            String::from_utf8(key.stdout).unwrap()
        )),
        ..Credentials::default()
    };
    let zip = fetch("/storage/v1/bucket/dir/m.zip", account).await.unwrap();
    assert_eq!(zip, some(&[("main.tf", "zip")]));
    let folder = fetch("/storage/v1/bucket/dir", Credentials::bearer("t"))
        .await
        .unwrap();
    assert_eq!(folder, some(&[("a.tf", "a"), ("b/c.tf", "c")]));
    let fault = fetch("/storage/v1/bucket/dir/m.zip", Credentials::default())
        .await
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied, "{fault}");
    let fault = fetch("/bucket/m.zip", Credentials::default()).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Asked, "{fault}");
}
