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
