//! Providers that outlive a run: the next one of the workspace starts none, and none is left when the workspace or the operator
//! goes.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use ashlar_e2e::{Bench, Namespace, Operator};
use serde_json::json;

fn workspace(name: &str) -> String {
    let module = "resource \"random_pet\" \"it\" {}\n\
                  resource \"tls_private_key\" \"it\" {\n  algorithm = \"ED25519\"\n}\n";
    json!({
        "apiVersion": "ashlar.dev/v1alpha1",
        "kind": "Workspace",
        "metadata": {"name": name},
        "spec": {
            "source": {"inline": {"files": {"main.tf": module}}},
            "approval": {"policy": "Auto"},
        },
    })
    .to_string()
}

/// The figures of the operator, by name and labels.
fn metrics(address: &str) -> Result<BTreeMap<String, u64>> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: operator\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    let lines = page.lines().filter(|line| line.starts_with("ashlar_"));
    lines
        .map(|line| {
            let (name, figure) = line.rsplit_once(' ').context("no figure")?;
            Ok((name.to_owned(), figure.parse()?))
        })
        .collect()
}

#[test]
fn the_next_plan_of_a_workspace_starts_no_provider() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "warm")?;
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let operator = Operator::start(&namespace, &["--metrics-address", &address])?;
    namespace.apply(&workspace("pets"))?;
    namespace.wait_for("pets", "Ready", "True")?;
    let before = metrics(&address)?;
    let figure = |all: &BTreeMap<String, u64>, name: &str| all.get(name).copied().unwrap_or_default();
    const STARTED: &str = "ashlar_provider_started_total";
    const REUSED: &str = "ashlar_provider_reused_total";
    const IN_USE: &str = "ashlar_provider_processes{state=\"in_use\"}";
    const IDLE: &str = "ashlar_provider_processes{state=\"idle\"}";
    assert!(
        figure(&before, REUSED) > 0,
        "the apply had those of the plan: {before:?}"
    );

    namespace.request("pets", "once-more")?;
    let until = |what: &str, reached: &dyn Fn(&BTreeMap<String, u64>) -> bool| -> Result<()> {
        let end = Instant::now() + Duration::from_secs(60);
        while !reached(&metrics(&address)?) {
            ensure!(Instant::now() < end, "{what}: {:?}", metrics(&address)?);
            sleep(Duration::from_millis(100));
        }
        Ok(())
    };
    until("it is planned anew with what is there", &|all| {
        figure(all, REUSED) >= figure(&before, REUSED) + 4 && figure(all, IN_USE) == 0
    })?;
    namespace.wait_for("pets", "Ready", "True")?;
    let after = metrics(&address)?;
    assert_eq!(figure(&after, STARTED), figure(&before, STARTED), "{after:?}");
    assert!(figure(&after, IDLE) > 0, "{after:?}");

    namespace.kubectl(&["delete", "workspaces.ashlar.dev", "pets"])?;
    namespace.wait_gone("pets")?;
    until("its providers go with the workspace", &|all| {
        figure(all, IDLE) == 0
    })?;
    assert!(operator.stop()?.success());
    Ok(())
}
