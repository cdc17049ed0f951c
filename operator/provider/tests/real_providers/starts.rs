//! Who is asked for a schema, and what is no plugin at all.

use std::{collections::BTreeMap, fs, sync::Arc, time::Duration};

use ashlar_addr::Provider as Address;
use ashlar_port::Providers;
use ashlar_provider::SchemaCache;
use ashlar_value::Type;

use crate::workspace::{Workspace, fake, write_program};

#[tokio::test(flavor = "multi_thread")]
async fn schemas_are_kept_by_binary() {
    let workspace = Workspace::new();
    let address: Address = "hashicorp/time".parse().unwrap();
    let first = workspace.plugins(&["hashicorp/time"]);
    let schema = first.schema(&address).await.unwrap();
    first.close().await;
    let second = workspace.plugins(&["hashicorp/time"]);
    assert!(Arc::ptr_eq(&schema, &second.schema(&address).await.unwrap()));
    assert_eq!(workspace.running(), 0, "no process was needed");
    let provider = second.start(&address).await.unwrap();
    assert!(Arc::ptr_eq(&schema, &provider.schema().await.unwrap()));
    assert!(
        schema
            .resources
            .get("time_static")
            .unwrap()
            .block
            .ty()
            .to_string()
            .contains("rfc3339 = string")
    );
    assert_eq!(
        schema.resources.get("time_static").unwrap().block.attributes["id"].ty(),
        Type::String
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_workspace_chose_tells_nobody_of_a_schema() {
    let mut workspace = Workspace::new();
    let kept = workspace.folders.path("schemas");
    workspace.schemas = Arc::new(SchemaCache::kept_in(kept));
    let world = workspace.world();
    let looks = format!(
        "if [ -n \"$KILN_DIR\" ] || [ \"$PWD\" = {world:?} ]; then echo theirs >&2; else echo nobodys $PLUGIN_PROTOCOL_VERSIONS >&2; fi; \
         exit 3"
    );
    workspace.refuses(&looks, "nobodys 5,6").await;
}

/// Mirrors are often laid with links.
#[tokio::test(flavor = "multi_thread")]
async fn a_linked_program_runs_within_the_fence() {
    let workspace = Workspace::new();
    let place = |name: &str| workspace.folders.path(name);
    for folder in ["package", "elsewhere"] {
        fs::create_dir(place(folder)).unwrap();
    }
    // It reads what lies beside it.
    let script = format!("cat {} >&2\nexit 3", place("elsewhere/words").display());
    write_program(&place("elsewhere/program"), &script);
    fs::write(place("elsewhere/words"), "some words of its own").unwrap();
    let link = place("package/terraform-provider-fake");
    std::os::unix::fs::symlink("../elsewhere/program", &link).unwrap();
    let plugins = workspace.with(BTreeMap::from([(fake(), link)]));
    let error = match plugins.start(&fake()).await {
        Err(diags) => diags.to_string(),
        Ok(_) => panic!("a script became a provider"),
    };
    assert!(error.contains("some words of its own"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_plugin_is_refused() {
    let mut workspace = Workspace::new();
    for (script, wanted) in [
        ("echo hello", "something else than the handshake line"),
        ("echo '1|4|netrpc|x|netrpc|'", "a protocol from before gRPC"),
        ("exit 3", "it ended before it was ready: exit status: 3"),
        ("echo 'panic: no luck' >&2; exit 2", "no luck"),
        ("exec >&-; sleep 600", "closed its output"),
        ("yes | tr -d '\\n'", "something else than the handshake line"),
    ] {
        workspace.refuses(script, wanted).await;
    }
    let missing = workspace.with(BTreeMap::from([(
        fake(),
        "/nowhere/terraform-provider-fake".into(),
    )]));
    assert!(
        missing
            .start(&fake())
            .await
            .is_err_and(|diags| diags.to_string().contains("/nowhere/"))
    );
    workspace.handshake = Duration::from_millis(500);
    workspace.refuses("sleep 600", "it was not ready").await;
    // A socket nobody answers on.
    workspace
        .refuses(
            "echo '1|5|unix|/nowhere|grpc|AAAA'; sleep 600",
            "could not be started",
        )
        .await;
}
