//! `local-exec`.

use std::{sync::Arc, time::Duration};

use ashlar_port::Provisioners;
use ashlar_provisioner::LocalPrograms;
use ashlar_value::Value;

use crate::bench::{Bench, text, texts, until_there};

#[tokio::test]
async fn a_command_says_what_it_runs_and_what_it_prints() {
    let bench = Bench::new();
    let command = "echo out $WORD; echo err hunter2 >&2; basename $PWD";
    let environment = Value::object(vec![(Arc::from("WORD"), text("w"))]);
    let (heard, result) = bench
        .run(
            "local-exec",
            &[("command", text(command)), ("environment", environment)],
            &[],
        )
        .await;
    assert_eq!(result, Ok(()));
    let executing = format!("Executing: [\"/bin/sh\" \"-c\" {command:?}]").replace("hunter2", "***");
    assert_eq!(heard, [&*executing, "out w", "err ***", "module"]);
}

#[tokio::test]
async fn a_failure_tells_the_status_and_the_output_without_what_must_not_be_shown() {
    let bench = Bench::new();
    let arguments = [
        ("command", text("echo no hunter2; exit 3")),
        ("quiet", Value::bool(true)),
    ];
    let (heard, result) = bench.run("local-exec", &arguments, &[]).await;
    let detail = result.unwrap_err();
    assert!(
        detail.contains("exit status: 3") && detail.contains("no ***"),
        "{detail}"
    );
    assert_eq!(
        heard,
        ["local-exec: Executing: Suppressed by quiet=true", "no ***"]
    );
    let missing = [("command", text("true")), ("working_dir", text("nowhere"))];
    let (_, result) = bench.run("local-exec", &missing, &[]).await;
    assert!(result.unwrap_err().contains("nowhere"));
}

#[tokio::test]
async fn the_environment_is_that_of_the_run_alone() {
    let bench = Bench::new();
    let arguments = [("command", text("env | cut -d= -f1 | sort | tr '\\n' ' '"))];
    let (heard, _) = bench.run("local-exec", &arguments, &[]).await;
    let names: Vec<&str> = heard[1].split(' ').filter(|name| !name.is_empty()).collect();
    let allowed = ["HOME", "OLDPWD", "PATH", "PWD", "SHLVL", "TMPDIR", "_"];
    assert!(names.iter().all(|name| allowed.contains(name)), "{names:?}");
}

#[tokio::test]
async fn where_programs_are_refused_none_runs() {
    let bench = Bench::with(|rules| rules.programs = LocalPrograms::Refused("Ask the owner."));
    let (heard, result) = bench
        .run("local-exec", &[("command", text("touch there"))], &[])
        .await;
    assert_eq!((heard, result), (vec![], Err("Ask the owner.".to_owned())));
    assert!(!bench.module().join("there").exists());
}

#[tokio::test]
async fn a_stop_kills_all_that_a_command_started() {
    let bench = Bench::new();
    let arguments = [
        ("command", text("(sleep 600 & echo $! > pid; touch up; wait)")),
        ("interpreter", texts(&["/bin/bash", "-c"])),
    ];
    let stop = async {
        until_there(&bench.module().join("up")).await;
        bench.runner.stop().await;
    };
    let ((_, result), ()) = tokio::join!(bench.run("local-exec", &arguments, &[]), stop);
    assert!(result.unwrap_err().contains("asked to stop"));
    let pid = std::fs::read_to_string(bench.module().join("pid")).unwrap();
    let gone = async {
        // One that nobody waited for is still listed, as a zombie.
        let stat = format!("/proc/{}/stat", pid.trim());
        while std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
    let (heard, result) = bench.run("local-exec", &arguments, &[]).await;
    assert!(heard.is_empty() && result.is_err(), "nothing is begun any more");
}
