//! `remote-exec` and `file`, over SSH, with a machine's real shell and `scp`.

use std::time::{Duration, Instant};

use ashlar_provisioner::Rules;
use ashlar_sources::Reach;
use ashlar_value::{Number, Value};

use crate::{
    bench::{Bench, text, texts},
    ssh_server::{Manner, SshServer, key},
};

fn reached<'a>(server: &SshServer, more: &[(&'a str, Value)]) -> Vec<(&'a str, Value)> {
    let port = Number::parse(&server.address.port().to_string()).unwrap();
    let mut connection = vec![
        ("host", text("127.0.0.1")),
        ("port", Value::number(port)),
        ("user", text("u")),
        ("timeout", text("20s")),
    ];
    connection.extend(more.iter().cloned());
    connection
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_run_one_after_the_other_and_leave_nothing() {
    let (private, public) = key("ed25519");
    let server = SshServer::start(public).await;
    let bench = Bench::new();
    let scripts = bench.folder.path().join("s_%RAND%.sh");
    let connection = reached(
        &server,
        &[
            ("private_key", text(private)),
            ("host_key", text(&server.host_key)),
            ("script_path", text(scripts.to_str().unwrap())),
        ],
    );
    let inline = [("inline", texts(&["echo one hunter2", "echo two $0"]))];
    let (heard, result) = bench.run("remote-exec", &inline, &connection).await;
    assert_eq!(result, Ok(()));
    let at = heard.iter().position(|line| line == "Connected!").unwrap();
    let script = bench.folder.path().join("s_58950531.sh");
    assert_eq!(
        heard[at + 1..],
        ["one ***".to_owned(), format!("two {}", script.display())]
    );
    assert!(
        heard.contains(&"  Checking Host Key: true".to_owned()),
        "{heard:?}"
    );
    assert_eq!(std::fs::read(&script).unwrap(), b"", "what it was is gone");

    std::fs::write(
        bench.module().join("a.sh"),
        "#!/bin/bash\necho a ${BASH_VERSION:+bash}\n",
    )
    .unwrap();
    std::fs::write(bench.module().join("b.sh"), "exit 5\n").unwrap();
    let files = [("scripts", texts(&["a.sh", "b.sh"]))];
    let (heard, result) = bench.run("remote-exec", &files, &connection).await;
    assert_eq!(heard.last().unwrap(), "a bash");
    assert!(result.unwrap_err().contains("exited with status 5"));
    let outside = [("script", text("/etc/passwd"))];
    let (_, result) = bench.run("remote-exec", &outside, &connection).await;
    assert!(result.unwrap_err().contains("leads out"));
}

#[tokio::test(flavor = "multi_thread")]
async fn files_and_folders_are_sent() {
    let (_, public) = key("ed25519");
    let server = SshServer::start(public).await;
    let bench = Bench::new();
    let connection = reached(&server, &[("password", text("right"))]);
    let there = bench.folder.path().join("it's there");
    std::fs::create_dir(&there).unwrap();
    let place = |name: &str| text(there.join(name).to_str().unwrap());
    let content = [("content", text("hello")), ("destination", place("a.txt"))];
    assert_eq!(bench.run("file", &content, &connection).await.1, Ok(()));
    assert_eq!(std::fs::read(there.join("a.txt")).unwrap(), b"hello");

    let tree = bench.module().join("tree/deep");
    std::fs::create_dir_all(&tree).unwrap();
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| at.to_le_bytes()[1]).collect();
    std::fs::write(tree.join("large"), &large).unwrap();
    std::fs::write(bench.module().join("tree/top"), "t").unwrap();
    let whole = [("source", text("tree")), ("destination", place(""))];
    assert_eq!(bench.run("file", &whole, &connection).await.1, Ok(()));
    assert!(std::fs::read(there.join("tree/deep/large")).unwrap() == large);
    assert_eq!(std::fs::read(there.join("tree/top")).unwrap(), b"t");
    let inner = [("source", text("tree/")), ("destination", place(""))];
    assert_eq!(bench.run("file", &inner, &connection).await.1, Ok(()));
    assert_eq!(std::fs::read(there.join("top")).unwrap(), b"t");

    let nowhere = [("content", text("x")), ("destination", place("no/folder/b.txt"))];
    let detail = bench.run("file", &nowhere, &connection).await.1.unwrap_err();
    assert!(detail.contains("No such file"), "{detail}");
    let missing = [("source", text("none")), ("destination", place("c"))];
    let detail = bench.run("file", &missing, &connection).await.1.unwrap_err();
    assert!(detail.contains("no such file"), "{detail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bastion_leads_on() {
    let (private, public) = key("ed25519");
    let (target, bastion) = (
        SshServer::start(public.clone()).await,
        SshServer::start(public).await,
    );
    let bench = Bench::new();
    let port = Number::parse(&bastion.address.port().to_string()).unwrap();
    let connection = reached(
        &target,
        &[
            ("private_key", text(private)),
            ("bastion_host", text("localhost")),
            ("bastion_port", Value::number(port)),
            ("bastion_host_key", text(&bastion.host_key)),
        ],
    );
    let script = bench.folder.path().join("s.sh");
    let connection = [connection, vec![("script_path", text(script.to_str().unwrap()))]].concat();
    let (heard, result) = bench
        .run("remote-exec", &[("inline", texts(&["echo over"]))], &connection)
        .await;
    assert_eq!(result, Ok(()));
    assert_eq!(heard.last().unwrap(), "over");
    assert_eq!((bastion.tunnels(), target.tunnels()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_let_in_or_meets_another_machine_is_told() {
    let (private, public) = key("ecdsa");
    let server = SshServer::start(public).await;
    let bench = Bench::new();
    let file = [("content", text("x")), ("destination", text("/nowhere/x"))];
    let wrong = reached(&server, &[("password", text("wrong")), ("timeout", text("2s"))]);
    let wrong: Vec<_> = wrong
        .into_iter()
        .filter(|(name, value)| *name != "timeout" || *value == text("2s"))
        .collect();
    let detail = bench.run("file", &file, &wrong).await.1.unwrap_err();
    assert!(detail.contains("does not let the user in"), "{detail}");
    assert!(!detail.contains("wrong"), "{detail}");

    let (_, other) = key("ed25519");
    let other = other.to_openssh().unwrap();
    let masked = reached(
        &server,
        &[("private_key", text(&private)), ("host_key", text(other))],
    );
    let begun = Instant::now();
    let detail = bench.run("file", &file, &masked).await.1.unwrap_err();
    assert!(detail.contains("neither the host key"), "{detail}");
    assert!(begun.elapsed() < Duration::from_secs(10), "it is not tried again");

    let guarded = Bench::with(|rules: &mut Rules| rules.reach = Reach::guarded(Vec::new()));
    let detail = guarded
        .run(
            "file",
            &file,
            &reached(&server, &[("private_key", text(private))]),
        )
        .await
        .1
        .unwrap_err();
    assert!(detail.contains("may not be reached"), "{detail}");
    let agent = reached(&server, &[("agent", Value::bool(true))]);
    let detail = guarded.run("file", &file, &agent).await.1.unwrap_err();
    assert!(detail.contains("may not be reached"), "{detail}");
    let detail = bench.run("file", &file, &agent).await.1.unwrap_err();
    assert!(detail.contains("agent"), "{detail}");
    assert!(
        bench
            .run("file", &file, &[])
            .await
            .1
            .unwrap_err()
            .contains("connection")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_may_show_a_certificate_of_the_authority_that_is_given() {
    let (private, public) = key("ed25519");
    let bench = Bench::new();
    let path = bench.folder.path().join("sent");
    let file = [
        ("content", text("x")),
        ("destination", text(path.to_str().unwrap())),
    ];
    for (name, trusted) in [("127.0.0.1", true), ("other.test", false)] {
        let server = SshServer::start_certified(public.clone(), name).await;
        let connection = reached(
            &server,
            &[
                ("private_key", text(&private)),
                ("host_key", text(&server.host_key)),
            ],
        );
        let told = bench.run("file", &file, &connection).await.1;
        assert_eq!(told.is_ok(), trusted, "{name}: {told:?}");
        if let Err(told) = told {
            assert!(told.contains("certificate for this host"), "{told}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_machine_ends_the_provisioner_and_nothing_else() {
    let (private, public) = key("ed25519");
    let bench = Bench::new();
    let file = [("content", text("x")), ("destination", text("/nowhere/x"))];
    for (manner, told) in [
        (Manner::Refuses, Err("does not run commands")),
        (Manner::Floods, Err("the connection broke off")),
        (Manner::Lingers, Ok(())),
    ] {
        let server = SshServer::start_as(public.clone(), manner, None).await;
        let connection = reached(&server, &[("private_key", text(&private))]);
        let begun = Instant::now();
        let result = bench.run("file", &file, &connection).await.1;
        match (result, told) {
            (Ok(()), Ok(())) => {}
            (Err(got), Err(word)) => assert!(got.contains(word), "{got}"),
            (result, _) => panic!("{result:?}"),
        }
        assert!(begun.elapsed() < Duration::from_secs(60));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_says_nothing_is_an_error() {
    let (private, public) = key("ed25519");
    let server = SshServer::start(public).await;
    let bench = Bench::new();
    let connection = reached(&server, &[("private_key", text(private))]);
    let null = Value::tuple(vec![text("true"), Value::null(ashlar_value::Type::String)]);
    for (name, list, word) in [
        ("inline", null.clone(), "inline[1] is null"),
        ("inline", texts(&["true", ""]), "inline[1] must not be empty"),
        ("scripts", null, "scripts[1] is null"),
    ] {
        let told = bench.run("remote-exec", &[(name, list)], &connection).await.1;
        assert!(told.as_ref().is_err_and(|told| told.contains(word)), "{told:?}");
    }
}
