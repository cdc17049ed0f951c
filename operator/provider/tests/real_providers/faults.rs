//! Plugins that break off, hang, or outlive whom they serve.

use std::{fs, path::Path, time::Duration};

use crate::{
    KILN, alive,
    setup::{
        change::{Object, apply, plan, wanted},
        values::text,
    },
    until,
    workspace::{Workspace, configured, write_program},
};

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_is_an_error_that_names_the_provider() {
    let workspace = Workspace::new();
    let plugins = workspace.plugins(&[KILN]);
    let provider = configured(&plugins, KILN).await;
    fs::write(
        workspace.world().join("faults.json"),
        r#"[{"op":"plan_create","crash":true}]"#,
    )
    .unwrap();
    let settings = wanted(&*provider, "kiln_pot", &[("name", text("a"))]).await;
    let answer = plan(&*provider, "kiln_pot", &Object::none(&settings), &settings).await;
    assert_eq!(answer.diags[0].summary, "Plugin did not respond");
    assert!(
        answer.diags[0].detail.contains("forge.test/studio/kiln ended"),
        "{:?}",
        answer.diags
    );
    assert!(answer.value.state.is_none());
    // And every later call says so too.
    let diags = provider.validate_resource("kiln_pot", &settings).await;
    assert_eq!(diags[0].summary, "Plugin did not respond");
    until(|| workspace.running() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_call_ends_with_the_process() {
    let mut workspace = Workspace::new();
    workspace
        .variables
        .push(("KILN_SLOW".into(), "600000:create kiln_pot a".into()));
    workspace.timeouts.apply = Duration::from_millis(500);
    let plugins = workspace.plugins(&[KILN]);
    let provider = configured(&plugins, KILN).await;
    let settings = wanted(&*provider, "kiln_pot", &[("name", text("a"))]).await;
    let answer = apply(&*provider, "kiln_pot", &Object::none(&settings), &settings).await;
    assert!(
        answer.diags[0]
            .detail
            .contains("did not answer ApplyResourceChange"),
        "{:?}",
        answer.diags
    );
    until(|| workspace.running() == 0).await;
}

fn pid_in(path: &Path) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|pid| pid.trim().to_owned())
        .filter(|pid| !pid.is_empty())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_group_dies() {
    let mut workspace = Workspace::new();
    workspace.handshake = Duration::from_secs(1);
    workspace
        .refuses(
            "sleep 600 & echo $! > child; echo $$ > own; wait",
            "it was not ready",
        )
        .await;
    for file in ["child", "own"] {
        let pid = pid_in(&workspace.world().join(file)).unwrap();
        until(|| !alive(&pid)).await;
    }
}

/// Neither its group nor its session is what holds a child back.
#[tokio::test(flavor = "multi_thread")]
async fn what_left_its_group_dies() {
    let mut workspace = Workspace::new();
    workspace.handshake = Duration::from_secs(1);
    let leave = "setsid --fork sh -c 'echo $$ > child; exec sleep 600'; while ! test -s child; do :; done";
    for (then, wanted) in [
        ("sleep 600", "it was not ready"),
        ("exit 3", "it ended before it was ready"),
    ] {
        workspace.refuses(&format!("{leave}; {then}"), wanted).await;
        let child = workspace.world().join("child");
        let pid = pid_in(&child).unwrap();
        until(|| !alive(&pid)).await;
        fs::remove_file(child).unwrap();
    }
}

/// The operator's end of its standard input is all that holds a supervised plugin.
#[tokio::test(flavor = "multi_thread")]
async fn what_left_its_group_dies_with_the_operator() {
    let workspace = Workspace::new();
    let plugin = workspace.world().join("plugin");
    write_program(
        &plugin,
        "setsid --fork sh -c 'echo $$ > child; exec sleep 600'\necho $$ > own\nexec sleep 600",
    );
    let mut launch = tokio::process::Command::new(env!("CARGO_BIN_EXE_ashlar-launch"));
    launch.args([
        "--supervise",
        "--parent",
        &std::process::id().to_string(),
        "--write",
    ]);
    launch.arg(workspace.world()).arg("--").arg(&plugin);
    launch
        .current_dir(workspace.world())
        .stdin(std::process::Stdio::piped());
    let mut supervisor = launch.spawn().unwrap();
    let files = ["own", "child"].map(|file| workspace.world().join(file));
    until(|| files.iter().all(|file| pid_in(file).is_some())).await;
    let pids = files.map(|file| pid_in(&file).unwrap());
    assert!(pids.iter().all(|pid| alive(pid)));
    // As the kernel does when the operator dies.
    drop(supervisor.stdin.take());
    until(|| !pids.iter().any(|pid| alive(pid))).await;
    supervisor.wait().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_dies_with_its_operator() {
    let workspace = Workspace::new();
    let plugin = workspace.world().join("plugin");
    write_program(&plugin, "echo $$ > own\nexec sleep 600");
    let script = format!(
        "{} --no-fence --parent $$ -- {} & wait",
        env!("CARGO_BIN_EXE_ashlar-launch"),
        plugin.display()
    );
    let mut operator = tokio::process::Command::new("sh")
        .arg("-c")
        .arg(script)
        .current_dir(workspace.world())
        .spawn()
        .unwrap();
    until(|| pid_in(&workspace.world().join("own")).is_some()).await;
    let pid = pid_in(&workspace.world().join("own")).unwrap();
    assert!(alive(&pid));
    operator.kill().await.unwrap();
    until(|| !alive(&pid)).await;
}
