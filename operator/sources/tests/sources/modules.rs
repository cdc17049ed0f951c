//! Modules by their sources: from a stand-in for a registry of modules, from archives and from pages that name them.

use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};

use ashlar_addr::Constraints;
use ashlar_config::source::ModuleSource;
use ashlar_sources::{Content, Credentials, FaultKind, Keyring, ModuleFault, Pin, Summary};

use crate::{
    Place, files,
    git_server::{Work, http_backend},
    pack::{tar, tar_gz, zip},
    place,
    server::{Server, answer, redirect, with},
    some,
};

async fn module(
    place: &Place,
    source: &str,
    version: &str,
    ring: &Keyring,
    pin: Option<&Pin>,
) -> Result<(Content, Pin), ModuleFault> {
    let constraints = match version {
        "" => Constraints::default(),
        version => version.parse().unwrap(),
    };
    let source = ModuleSource::parse(source, !version.is_empty()).unwrap();
    place
        .fetcher
        .module(&source, &constraints, ring, pin, &|_, _| {})
        .await
}

fn faulty<T: std::fmt::Debug>(result: Result<T, ModuleFault>, summary: Summary, kind: FaultKind, part: &str) {
    let fault = result.unwrap_err();
    assert_eq!((fault.summary, fault.fault.kind), (summary, kind), "{fault:?}");
    assert!(fault.fault.text.contains(part), "{fault:?}");
}

/// A stand-in for a registry of modules: the public one cannot be had here. It wants a token, and names packages by their
/// address, by one beside its own, and in its answer's body.
async fn registry(packages: String) -> (Server, Keyring) {
    let (server, authority) = Server::start_tls(move |asked| {
        let json = |text: String| with(answer(200, text), "content-type", "application/json");
        if asked.path != "/m.zip" && asked.header("authorization") != Some("Bearer t0ken") {
            return answer(401, "");
        }
        match &*asked.path {
            "/.well-known/terraform.json" => json(r#"{"modules.v1":"/api/modules"}"#.to_owned()),
            "/api/modules/team/vpc/aws/versions" => {
                let versions = [
                    "0.8.0",
                    "0.9.0",
                    "1.0.0",
                    "1.2.0",
                    "1.10.0",
                    "2.0.0-beta1",
                    "nonsense",
                ];
                let versions = versions
                    .map(|version| format!(r#"{{"version":"{version}"}}"#))
                    .join(",");
                json(format!(
                    r#"{{"modules":[{{"versions":[{versions}]}},{{"versions":[]}}]}}"#
                ))
            }
            "/api/modules/team/empty/aws/versions" => json(r#"{"modules":[{"versions":[]}]}"#.to_owned()),
            "/api/modules/team/odd/aws/versions" => json("[]".to_owned()),
            "/api/modules/team/vpc/aws/0.8.0/download" => {
                with(answer(204, ""), "x-terraform-get", "git::FILE:///etc")
            }
            "/api/modules/team/vpc/aws/0.9.0/download" => {
                with(answer(204, ""), "x-terraform-get", "git::HTTP://h.test/r")
            }
            "/api/modules/team/vpc/aws/1.0.0/download" => {
                with(answer(204, ""), "x-terraform-get", "../../../../../../m.zip")
            }
            "/api/modules/team/vpc/aws/1.2.0/download" => with(
                answer(204, ""),
                "x-terraform-get",
                &format!("git::{packages}?ref=v1.2.0"),
            ),
            "/api/modules/team/vpc/aws/1.10.0/download" => {
                json(r#"{"location":"/m.zip//*?archive=zip"}"#.to_owned())
            }
            "/api/modules/team/vpc/aws/2.0.0-beta1/download" => {
                with(answer(204, ""), "x-terraform-get", "file:///etc")
            }
            "/m.zip" => {
                assert_eq!(
                    asked.header("authorization"),
                    None,
                    "a registry's token is not for its packages"
                );
                answer(200, zip(&[("main.tf", "zip"), ("top-1/sub/main.tf", "sub")]))
            }
            _ => answer(404, ""),
        }
    })
    .await;
    let mut ring = Keyring::default();
    let trusting = Credentials {
        authorities: Some(authority),
        ..Credentials::default()
    };
    ring.add(&server.host(), trusting);
    (server, ring.with_tokens(|_| Some("t0ken".to_owned())))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_is_asked_for_the_newest_version_that_fits() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("main.tf", "git");
    let commit = work.commit();
    work.git(&["tag", "v1.2.0"]);
    let root = place.root.path().join("repos");
    let (git, authority) = Server::start_tls(move |asked| http_backend(&root, asked)).await;
    let (server, mut ring) = registry(format!("https://{}/r/.git", git.host())).await;
    let trusting = Credentials {
        authorities: Some(authority),
        ..Credentials::default()
    };
    ring.add(&git.host(), trusting);
    let host = server.host();
    let source = |name: &str| format!("{host}/team/{name}/aws");

    let (content, pin) = module(&place, &source("vpc"), "1.0.0", &ring, None)
        .await
        .unwrap();
    assert_eq!(files(&content)["main.tf"], "zip");
    assert_eq!(
        (pin.source, pin.version.as_deref()),
        (source("vpc"), Some("1.0.0"))
    );
    let (content, pin) = module(&place, &source("vpc"), "~> 1.2.0", &ring, None)
        .await
        .unwrap();
    assert_eq!(files(&content), some(&[("main.tf", "git")]));
    assert_eq!((pin.version.as_deref(), pin.revision), (Some("1.2.0"), commit));
    let (_, pin) = module(&place, &format!("{}//sub", source("vpc")), ">= 1.0", &ring, None)
        .await
        .unwrap();
    assert_eq!(
        (pin.version.as_deref(), &*pin.folder),
        (Some("1.10.0"), "top-1/sub")
    );

    let check = async |name: &str, version: &str, summary: Summary, kind: FaultKind, part: &str| {
        faulty(
            module(&place, &source(name), version, &ring, None).await,
            summary,
            kind,
            part,
        );
    };
    check(
        "vpc",
        ">= 3.0",
        Summary::NoneFits,
        FaultKind::Absent,
        "newest one is 1.10.0",
    )
    .await;
    check(
        "vpc",
        "2.0.0-beta1",
        Summary::InvalidLocation,
        FaultKind::Refused,
        "file of this machine",
    )
    .await;
    check(
        "vpc",
        "0.8.0",
        Summary::InvalidLocation,
        FaultKind::Refused,
        "file of this machine",
    )
    .await;
    check(
        "vpc",
        "0.9.0",
        Summary::InvalidLocation,
        FaultKind::Refused,
        "not encrypted",
    )
    .await;
    check(
        "none",
        "1.0.0",
        Summary::NotFound,
        FaultKind::Absent,
        "team/none/aws",
    )
    .await;
    check(
        "empty",
        ">= 0.0.0",
        Summary::NoVersions,
        FaultKind::Absent,
        "no version",
    )
    .await;
    check(
        "odd",
        "1.0.0",
        Summary::InvalidResponse,
        FaultKind::Refused,
        "cannot be read",
    )
    .await;
    let mut stranger = Keyring::default();
    stranger.add(&host, ring_authority(&ring, &host));
    let told = module(&place, &source("vpc"), "1.0.0", &stranger, None).await;
    faulty(told, Summary::Inaccessible, FaultKind::Denied, "401");
}

/// What is trusted, without the token.
fn ring_authority(ring: &Keyring, host: &str) -> Credentials {
    Credentials {
        bearer_token: None,
        ..ring.for_host(host)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pin_brings_the_same_content_again_or_an_error() {
    let first = place();
    let work = Work::new(first.root.path().join("repos/r"));
    work.write("main.tf", "one");
    let commit = work.commit();
    let root = first.root.path().join("repos");
    let git = Server::start(move |asked| http_backend(&root, asked)).await;
    let source = format!("git::{}?ref=main", git.url("/r/.git"));
    let ring = Keyring::default();
    let (content, pin) = module(&first, &source, "", &ring, None).await.unwrap();
    work.write("main.tf", "two");
    work.commit();
    // What is at hand is not asked for.
    let asked = git.asked().len();
    let (again, _) = module(&first, &source, "", &ring, Some(&pin)).await.unwrap();
    assert_eq!((again.digest, git.asked().len()), (content.digest, asked));
    // Elsewhere the commit is fetched, whatever the branch is now.
    let second = place();
    let (again, kept) = module(&second, &source, "", &ring, Some(&pin)).await.unwrap();
    assert_eq!(
        (files(&again), &again.revision, &kept),
        (some(&[("main.tf", "one")]), &commit, &pin)
    );
    let (new, _) = module(&second, &source, "", &ring, None).await.unwrap();
    assert_eq!(files(&new), some(&[("main.tf", "two")]));
    // Another reference is another source.
    let other = source.replace("ref=main", "ref=master");
    let told = module(&second, &other, "", &ring, Some(&pin)).await;
    faulty(told, Summary::Failed, FaultKind::Absent, "no tag or branch");

    let version = AtomicUsize::new(0);
    let archives = Server::start(move |_| {
        let text = version.fetch_add(1, Ordering::Relaxed).to_string();
        answer(200, zip(&[("main.tf", &text)]))
    })
    .await;
    let source = archives.url("/m.zip");
    let (_, pin) = module(&first, &source, "", &ring, None).await.unwrap();
    let told = module(&second, &source, "", &ring, Some(&pin)).await;
    faulty(told, Summary::Failed, FaultKind::Changed, "another content");
}

#[tokio::test(flavor = "multi_thread")]
async fn archives_and_pages_are_packages() {
    let place = place();
    let plain = [("main.tf", "x"), ("sub/a.tf", "a")];
    let tarred = tar(&plain);
    let pack = |program: &str| {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("f"), &tarred).unwrap();
        let output = std::process::Command::new(program)
            .arg("-c")
            .arg(folder.path().join("f"))
            .output()
            .unwrap();
        assert!(output.status.success(), "{program}");
        output.stdout
    };
    let bodies = [
        ("/m.zip", zip(&plain)),
        ("/m.tar", tarred.clone()),
        ("/m.tar.gz", tar_gz(&plain)),
        ("/m.tar.xz", pack("xz")),
        ("/m.tar.bz2", pack("bzip2")),
        ("/m.tar.zst", zstd::encode_all(&tarred[..], 0).unwrap()),
    ];
    let sum = hex::encode(<sha2::Sha256 as sha2::Digest>::digest(&bodies[0].1));
    let list = format!("{sum}  m.zip\n");
    let server = Server::start(move |asked| {
        if let Some((_, body)) = bodies.iter().find(|(path, _)| *path == asked.path) {
            return answer(200, body.clone());
        }
        match &*asked.path {
            "/unnamed" if !asked.query.contains("terraform-get") => answer(200, bodies[0].1.clone()),
            "/sums" => answer(200, list.clone()),
            "/page" => answer(
                200,
                "<html><meta name=\"terraform-get\" content=\"/m.zip//sub\"></html>",
            ),
            "/header" => with(answer(204, ""), "x-terraform-get", "./moved"),
            "/moved" => redirect("/page?terraform-get=1"),
            "/loop" => with(answer(204, ""), "x-terraform-get", "/loop"),
            "/mute" => answer(200, "<html></html>"),
            "/out" => with(answer(204, ""), "x-terraform-get", "/etc/passwd/../../m"),
            _ => answer(404, ""),
        }
    })
    .await;
    let ring = Keyring::default();
    let fetch = async |path: &str| module(&place, &server.url(path), "", &ring, None).await;
    for path in [
        "/m.zip",
        "/m.tar",
        "/m.tar.gz",
        "/m.tar.xz",
        "/m.tar.bz2",
        "/m.tar.zst",
        "/unnamed?archive=zip",
    ] {
        let (content, _) = fetch(path).await.unwrap();
        assert_eq!(files(&content), some(&plain), "{path}");
    }
    for path in ["/page", "/header"] {
        let (content, pin) = fetch(path).await.unwrap();
        assert_eq!(
            (files(&content), &*pin.folder),
            (some(&[("a.tf", "a")]), ""),
            "{path}"
        );
    }
    let (_, pin) = module(&place, &server.url("/m.zip//sub"), "", &ring, None)
        .await
        .unwrap();
    assert_eq!(pin.folder, "sub");
    let sums = server.url("/sums");
    for checksum in [sum.clone(), format!("sha256:{sum}"), format!("file:{sums}")] {
        fetch(&format!("/m.zip?checksum={checksum}")).await.unwrap();
    }
    let zeros = "0".repeat(64);
    for (path, kind, part) in [
        (
            &*format!("/m.zip?checksum={zeros}"),
            FaultKind::Changed,
            "checksum",
        ),
        (
            &*format!("/m.tar?checksum=file:{sums}"),
            FaultKind::Absent,
            "has none",
        ),
        ("/m.zip?archive=rar", FaultKind::Asked, "rar"),
        ("/m.gz", FaultKind::Asked, "one compressed file"),
        ("/m.zip?archive=tar.gz", FaultKind::Refused, "damaged"),
        ("/loop", FaultKind::Refused, "limit"),
        ("/mute", FaultKind::Absent, "names no package"),
        ("/nothing.zip", FaultKind::Absent, "404"),
        ("/nothing", FaultKind::Absent, "404"),
    ] {
        faulty(fetch(path).await, Summary::Failed, kind, part);
    }
    for (source, part) in [
        ("hg::http://127.0.0.1/x", "Mercurial"),
        ("ssh://git@127.0.0.1/x", "git::"),
        ("/etc", "nobody's business"),
        ("git::file:///etc", "nobody's business"),
    ] {
        let fault = module(&place, source, "", &ring, None).await.unwrap_err();
        assert!(fault.fault.text.contains(part), "{fault:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_of_a_source_are_not_told() {
    let place = place();
    let server = Server::start(|_| answer(404, "")).await;
    let ring = Keyring::default();
    let notices = Mutex::new(Vec::new());
    for source in [
        server.url("/m.zip?token=s3cret").replace("//", "//me:s3cret@"),
        format!(
            "git::{}?sshkey=czNjcmV0&ref=x",
            server.url("/r").replace("//", "//me:s3cret@")
        ),
        format!(
            "s3::{}?aws_access_key_id=s3cret&aws_access_key_secret=s3cret",
            server.url("/b/k.zip")
        ),
    ] {
        let source = ModuleSource::parse(&source, false).unwrap();
        let notice =
            |name: &str, _: Option<&ashlar_addr::Version>| notices.lock().unwrap().push(name.to_owned());
        let told = place
            .fetcher
            .module(&source, &Constraints::default(), &ring, None, &notice)
            .await;
        let told = format!("{:?} {:?}", told.unwrap_err(), notices.lock().unwrap());
        assert!(!told.contains("s3cret") && !told.contains("czNjcmV0"), "{told}");
    }
    assert_eq!(notices.lock().unwrap().len(), 3);
}
