//! Git: references, credentials, submodules, what is hostile.

use ashlar_sources::{Credentials, Fault, FaultKind, Fetcher, GitPlace, Limits, Reach, Reference};

use crate::{
    files,
    git_server::{Work, http_backend, serve},
    place, place_with,
    server::{Server, redirect},
    some,
    ssh_server::{SshServer, key},
};

fn public() -> Credentials {
    Credentials::default()
}

fn faulty<T: std::fmt::Debug>(result: Result<T, Fault>, kind: FaultKind, part: &str) {
    let fault = result.unwrap_err();
    assert_eq!(fault.kind, kind, "{fault}");
    assert!(fault.text.contains(part), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_reference_is_found() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("main.tf", "one");
    work.write("sub/deep/a.txt", "a");
    let one = work.commit();
    work.git(&["tag", "--annotate", "--message", "x", "v1.0.0"]);
    work.write("main.tf", "two");
    let two = work.commit();
    work.git(&["tag", "v1.1.0"]);
    work.git(&["checkout", "--quiet", "-b", "side"]);
    work.write("main.tf", "three");
    let three = work.commit();
    work.git(&["checkout", "--quiet", "main"]);
    work.write("main.tf", "four");
    let four = work.commit();
    let server = serve(&place.root.path().join("repos"), None).await;
    let check = async |reference: Reference, commit: &str, text: &str| {
        let repository = GitPlace::new(server.url("/r/.git"), reference);
        let told = format!("{repository:?}");
        if !matches!(repository.reference, Reference::Name(ref name) if name.len() == 7) {
            assert_eq!(
                place.fetcher.git_revision(&repository, &public()).await.unwrap(),
                commit,
                "{told}"
            );
        }
        let content = place.fetcher.git(&repository, &public()).await.unwrap();
        assert_eq!(content.revision, commit, "{told}");
        assert_eq!(
            files(&content),
            some(&[("main.tf", text), ("sub/deep/a.txt", "a")]),
            "{told}"
        );
        assert!(content.digest.starts_with("sha256:"));
    };
    check(Reference::Head, &four, "four").await;
    check(Reference::Branch("side".into()), &three, "three").await;
    check(Reference::Tag("v1.0.0".into()), &one, "one").await;
    check(Reference::Semver(">=1.0.0".into()), &two, "two").await;
    // No branch ends here, so the server tells nothing of it.
    check(Reference::Commit(one.clone()), &one, "one").await;
    check(Reference::Name("v1.1.0".into()), &two, "two").await;
    check(Reference::Name("side".into()), &three, "three").await;
    check(Reference::Name(two[..7].to_owned()), &two, "two").await;
    let absent = GitPlace::new(server.url("/r/.git"), Reference::Branch("nothing".into()));
    faulty(
        place.fetcher.git(&absent, &public()).await,
        FaultKind::Absent,
        "no branch \"nothing\"",
    );
    let absent = GitPlace::new(server.url("/r/.git"), Reference::Commit("9".repeat(40)));
    faulty(
        place.fetcher.git(&absent, &public()).await,
        FaultKind::Absent,
        "9999",
    );
    let absent = GitPlace::new(server.url("/nothing"), Reference::Head);
    faulty(
        place.fetcher.git(&absent, &public()).await,
        FaultKind::Absent,
        "404",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_known_commit_is_not_sent_again_but_the_server_is_asked_who_may_have_it() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("a", "a");
    work.commit();
    let server = serve(&place.root.path().join("repos"), Some("me:s3cret")).await;
    let repository = GitPlace::new(server.url("/r/.git"), Reference::Head);
    let mine = Credentials::account("me", "s3cret");
    let first = place.fetcher.git(&repository, &mine).await.unwrap();
    let asked = server.asked().len();
    let again = place.fetcher.git(&repository, &mine).await.unwrap();
    assert_eq!((first.digest, first.folder), (again.digest, again.folder));
    assert!(server.asked().len() - asked <= 2, "the list alone");
    for other in [public(), Credentials::account("me", "other")] {
        let told = place.fetcher.git(&repository, &other).await;
        faulty(told, FaultKind::Denied, "401");
    }
    // An account in the address, which is not told.
    let with_account = server.url("/r/.git").replace("//", "//me:s3cret@");
    let repository = GitPlace::new(with_account, Reference::Branch("no".into()));
    assert!(!format!("{repository:?}").contains("s3cret"));
    let fault = place.fetcher.git(&repository, &public()).await.unwrap_err();
    assert!(
        !fault.text.contains("s3cret") && fault.text.contains("no branch"),
        "{fault}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_gets_no_credentials_of_another_place() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("a", "a");
    work.commit();
    let root = place.root.path().join("repos");
    let to = Server::start(move |asked| {
        assert_eq!(asked.header("authorization"), None);
        http_backend(&root, asked)
    })
    .await;
    let target = to.url("");
    let from = Server::start(move |asked| redirect(&format!("{target}{}?{}", asked.path, asked.query))).await;
    let repository = GitPlace::new(from.url("/r/.git"), Reference::Head);
    let content = place
        .fetcher
        .git(&repository, &Credentials::account("me", "s3cret"))
        .await
        .unwrap();
    assert_eq!(files(&content), some(&[("a", "a")]));
    assert!(
        from.asked()
            .iter()
            .all(|asked| asked.header("authorization").is_some())
    );
    assert!(to.asked().len() >= 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn over_ssh_both_sides_prove_who_they_are() {
    let place = place();
    let work = Work::new(place.root.path().join("it's a repo"));
    work.write("a", "a");
    let commit = work.commit();
    let (identity, user) = key("ed25519");
    let server = SshServer::start(user).await;
    let url = format!("ssh://git@{}{}", server.address, work.folder.display()).replace(' ', "%20");
    let repository = GitPlace::new(url, Reference::Name("main".into()));
    let good = Credentials {
        identity: Some(identity),
        known_hosts: Some(server.known_hosts.clone()),
        ..public()
    };
    let content = place.fetcher.git(&repository, &good).await.unwrap();
    assert_eq!(
        (content.revision.clone(), files(&content)),
        (commit, some(&[("a", "a")]))
    );

    let unknown = Credentials {
        known_hosts: None,
        ..good.clone()
    };
    faulty(
        place.fetcher.git(&repository, &unknown).await,
        FaultKind::Denied,
        "known_hosts",
    );
    let other = key("ed25519").1.to_openssh().unwrap();
    let changed = Credentials {
        known_hosts: Some(format!("[127.0.0.1]:{} {other}", server.address.port())),
        ..good.clone()
    };
    faulty(
        place.fetcher.git(&repository, &changed).await,
        FaultKind::Denied,
        "another key",
    );
    let stranger = Credentials {
        identity: Some(key("ed25519").0),
        ..good.clone()
    };
    faulty(
        place.fetcher.git(&repository, &stranger).await,
        FaultKind::Denied,
        "does not let",
    );
    let nothing = GitPlace::new(format!("ssh://git@{}/nothing", server.address), Reference::Head);
    faulty(
        place.fetcher.git(&nothing, &good).await,
        FaultKind::Absent,
        "does not appear to be a git repository",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn users_keys_may_be_of_any_usual_kind() {
    let place = place();
    let work = Work::new(place.root.path().join("r"));
    work.write("a", "a");
    let commit = work.commit();
    for kind in ["ecdsa", "ed25519"] {
        let (identity, user) = key(kind);
        let server = SshServer::start(user).await;
        let url = format!("ssh://git@{}{}", server.address, work.folder.display());
        let credentials = Credentials {
            identity: Some(identity),
            known_hosts: Some(server.known_hosts.clone()),
            ..public()
        };
        let told = place
            .fetcher
            .git_revision(&GitPlace::new(url, Reference::Head), &credentials)
            .await;
        assert_eq!(told.unwrap(), commit, "{kind}");
    }
    let broken = Credentials {
        identity: Some(
            "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cret\n-----END OPENSSH PRIVATE KEY-----".to_owned(),
        ),
        known_hosts: Some("* ".to_owned() + &key("ed25519").1.to_openssh().unwrap()),
        ..public()
    };
    let nowhere = GitPlace::new("ssh://git@127.0.0.1:1/r", Reference::Head);
    let fault = place.fetcher.git_revision(&nowhere, &broken).await.unwrap_err();
    assert!(!fault.text.contains("s3cret"), "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn this_machines_git_fetches_the_same() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("main.tf", "one");
    let one = work.commit();
    work.git(&["tag", "--annotate", "--message", "x", "v1.0.0"]);
    work.write("main.tf", "two");
    let two = work.commit();
    let local = Fetcher::new(
        place.root.path().join("other"),
        Limits::default(),
        Reach::everything(),
    )
    .unwrap()
    .with_git_program();
    let server = serve(&place.root.path().join("repos"), Some("me:s3cret")).await;
    let with_account = server.url("/r/.git").replace("//", "//me:s3cret@");
    for url in [format!("file://{}", work.folder.display()), with_account.clone()] {
        for (reference, commit, text) in [
            (Reference::Head, &two, "two"),
            (Reference::Tag("v1.0.0".into()), &one, "one"),
            (Reference::Name("main".into()), &two, "two"),
            (Reference::Name(one[..9].to_owned()), &one, "one"),
            (Reference::Commit(one.clone()), &one, "one"),
            (Reference::Semver("1.x".into()), &one, "one"),
        ] {
            let repository = GitPlace::new(url.clone(), reference);
            let content = local.git(&repository, &public()).await.unwrap();
            assert_eq!(
                (&content.revision, files(&content)),
                (commit, some(&[("main.tf", text)])),
                "{repository:?}"
            );
        }
    }
    for (url, kind) in [
        (
            format!("file://{}/nothing", work.folder.display()),
            FaultKind::Absent,
        ),
        (with_account.replace("/r/", "/nothing/"), FaultKind::Absent),
        (with_account.replace("s3cret", "0ther"), FaultKind::Denied),
    ] {
        let fault = local
            .git(&GitPlace::new(url, Reference::Head), &public())
            .await
            .unwrap_err();
        assert_eq!(fault.kind, kind, "{fault}");
        assert!(
            !fault.text.contains("s3cret") && !fault.text.contains("0ther"),
            "{fault}"
        );
    }
    let fault = local
        .git(&GitPlace::new("ext::sh -c true", Reference::Head), &public())
        .await
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::Asked, "{fault}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_fetcher_does_not_reach_this_machine() {
    let root = tempfile::tempdir().unwrap();
    let guarded = Fetcher::new(
        root.path().join("cache"),
        Limits::default(),
        Reach::guarded(vec![]),
    )
    .unwrap();
    let server = Server::start(|_| panic!("it was reached")).await;
    let port = server.address.port();
    let known = Credentials {
        known_hosts: Some("* ".to_owned() + &key("ed25519").1.to_openssh().unwrap()),
        ..public()
    };
    for url in [
        format!("http://127.0.0.1:{port}/r"),
        // By name, as any name may come to mean it.
        format!("http://localhost:{port}/r"),
        format!("http://[::ffff:127.0.0.1]:{port}/r"),
        format!("http://2130706433:{port}/r"),
        format!("ssh://git@localhost:{port}/r"),
        "http://169.254.169.254/r".to_owned(),
    ] {
        let place = GitPlace::new(url.clone(), Reference::Head);
        let fault = guarded.git_revision(&place, &known).await.unwrap_err();
        assert!(
            fault.kind == FaultKind::Refused && fault.text.contains("may not be reached"),
            "{url}: {fault:?}"
        );
    }
    // Nor by a redirect.
    let place = place();
    let away = Server::start(|_| redirect("http://169.254.169.254/latest/meta-data/")).await;
    let told = place
        .fetcher
        .git(&GitPlace::new(away.url("/r"), Reference::Head), &public())
        .await;
    faulty(told, FaultKind::Refused, "link-local");
}

#[tokio::test(flavor = "multi_thread")]
async fn submodules_come_along_where_they_are_asked_for() {
    let place = place();
    let inner = Work::new(place.root.path().join("repos/inner"));
    inner.write("i", "inner");
    inner.commit();
    let outer = Work::new(place.root.path().join("repos/outer"));
    outer.write("o", "outer");
    outer.git(&["submodule", "--quiet", "add", "../inner", "lib/inner"]);
    outer.commit();
    let server = serve(&place.root.path().join("repos"), None).await;
    // As `git` resolves it: relative to the repository.
    outer.git(&[
        "config",
        "--file",
        ".gitmodules",
        "submodule.lib/inner.url",
        "../../inner/.git",
    ]);
    outer.commit();
    let mut repository = GitPlace::new(server.url("/outer/.git"), Reference::Head);
    let without = place.fetcher.git(&repository, &public()).await.unwrap();
    assert!(!files(&without).contains_key("lib/inner/i"));
    repository.submodules = true;
    let with = place.fetcher.git(&repository, &public()).await.unwrap();
    assert_eq!(files(&with)["lib/inner/i"], "inner");
    assert_eq!(with.revision, without.revision);
    // Who may have the outer one need not be let into the inner one: it is asked each time.
    let asked = || {
        let all = server.asked();
        all.iter()
            .filter(|asked| asked.path.starts_with("/inner/"))
            .count()
    };
    let before = asked();
    place.fetcher.git(&repository, &public()).await.unwrap();
    assert!(asked() > before);
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_submodules_are_refused() {
    let place = place_with(Limits {
        files: 3,
        ..Limits::default()
    });
    let inner = Work::new(place.root.path().join("repos/inner"));
    inner.write("i", "inner");
    let commit = inner.commit();
    let outer = Work::new(place.root.path().join("repos/outer"));
    outer.write("o", "outer");
    let link = |name: &str| {
        let info = format!("160000,{commit},{name}");
        outer.git(&["update-index", "--add", "--cacheinfo", &info]);
        outer.git(&["commit", "--quiet", "--message", "x"]);
    };
    outer.commit();
    link("a");
    link("b");
    let server = serve(&place.root.path().join("repos"), None).await;
    let mut repository = GitPlace::new(server.url("/outer/.git"), Reference::Head);
    place.fetcher.git(&repository, &public()).await.unwrap();
    link("c");
    let told = place.fetcher.git(&repository, &public()).await;
    faulty(told, FaultKind::Refused, "more than 3 files");

    // A repository elsewhere has nothing to say of folders of this machine, even where those may be fetched.
    let local = Fetcher::new(
        place.root.path().join("other"),
        Limits::default(),
        Reach::everything(),
    )
    .unwrap()
    .with_git_program();
    let modules = format!(
        "[submodule \"a\"]\npath = a\nurl = file://{}\n",
        inner.folder.display()
    );
    outer.write(".gitmodules", &modules);
    outer.git(&["add", ".gitmodules"]);
    outer.git(&["commit", "--quiet", "--message", "x"]);
    repository.submodules = true;
    let told = local.git(&repository, &public()).await;
    faulty(told, FaultKind::Refused, "folder of this machine");
    let beside = GitPlace {
        url: format!("file://{}", outer.folder.display()),
        ..repository
    };
    let content = local.git(&beside, &public()).await.unwrap();
    assert_eq!(files(&content)["a/i"], "inner");
}

#[tokio::test(flavor = "multi_thread")]
async fn links_and_programs_keep_their_meaning() {
    let place = place();
    let work = Work::new(place.root.path().join("repos/r"));
    work.write("run.sh", "#!/bin/sh");
    work.write("folder/a", "a");
    use std::os::unix::fs::{PermissionsExt, symlink};
    std::fs::set_permissions(work.folder.join("run.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    symlink("../run.sh", work.folder.join("folder/link")).unwrap();
    symlink("folder", work.folder.join("again")).unwrap();
    symlink("nothing", work.folder.join("dangling")).unwrap();
    work.commit();
    let server = serve(&place.root.path().join("repos"), None).await;
    let repository = GitPlace::new(server.url("/r/.git"), Reference::Head);
    let content = place.fetcher.git(&repository, &public()).await.unwrap();
    let sh = "#!/bin/sh";
    let want = [
        ("again/a", "a"),
        ("again/link", sh),
        ("folder/a", "a"),
        ("folder/link", sh),
        ("run.sh", sh),
    ];
    assert_eq!(files(&content), some(&want));
    let mode = |name: &str| content.folder.join(name).metadata().unwrap().permissions().mode() & 0o111;
    assert!(mode("again/link") != 0 && mode("folder/a") == 0);
    symlink("/etc/passwd", work.folder.join("out")).unwrap();
    work.commit();
    faulty(
        place.fetcher.git(&repository, &public()).await,
        FaultKind::Refused,
        "leads out",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_names_files_counts_as_well_as_what_they_hold() {
    let check = async |unpacked_bytes: u64| {
        let place = place_with(Limits {
            unpacked_bytes,
            ..Limits::default()
        });
        let work = Work::new(place.root.path().join("repos/r"));
        for name in ["a", "b", "c"] {
            work.write(&name.repeat(200), "");
        }
        work.commit();
        let server = serve(&place.root.path().join("repos"), None).await;
        let repository = GitPlace::new(server.url("/r/.git"), Reference::Head);
        place.fetcher.git(&repository, &public()).await
    };
    faulty(check(600).await, FaultKind::Refused, "all its files together");
    check(2000).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_repository_is_refused_by_the_limit_that_it_crosses() {
    let check = async |limits: Limits, part: &str| {
        let place = place_with(limits);
        let work = Work::new(place.root.path().join("repos/r"));
        let mut seed = 1u32;
        let mut next = || {
            seed ^= seed << 13;
            seed ^= seed >> 17;
            seed ^= seed << 5;
            char::from(b'a' + (seed % 26) as u8)
        };
        let noise: String = (0..40_000).map(|_| next()).collect();
        work.write("a", &noise);
        work.write("b/c/d", "d");
        work.commit();
        let server = serve(&place.root.path().join("repos"), None).await;
        let repository = GitPlace::new(server.url("/r/.git"), Reference::Head);
        let got = place.fetcher.git(&repository, &public()).await;
        if part.is_empty() {
            got.unwrap();
        } else {
            faulty(got, FaultKind::Refused, part);
        }
        let left = std::fs::read_dir(place.root.path().join("cache"))
            .unwrap()
            .count();
        assert_eq!(left, 2, "nothing half done is left");
    };
    let limits = Limits::default;
    check(limits(), "").await;
    check(
        Limits {
            git_bytes: 10_000,
            ..limits()
        },
        "git bytes",
    )
    .await;
    check(
        Limits {
            git_objects: 3,
            ..limits()
        },
        "objects; the limit is 3",
    )
    .await;
    check(
        Limits {
            file_bytes: 30_000,
            ..limits()
        },
        "limit for one file",
    )
    .await;
    check(
        Limits {
            unpacked_bytes: 30_000,
            ..limits()
        },
        "all its files together",
    )
    .await;
    check(Limits { files: 2, ..limits() }, "more than 2 files").await;
    check(
        Limits {
            path_depth: 2,
            ..limits()
        },
        "deeper than the limit of 2",
    )
    .await;
}
