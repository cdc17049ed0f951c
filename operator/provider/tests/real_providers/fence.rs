//! What a plugin reaches of the machine it runs on.

use std::{fs, path::PathBuf};

use ashlar_port::ReadDataRequest;

use crate::{
    setup::{
        change::{Object, apply, wanted},
        values::{config, text},
    },
    workspace::{Workspace, configured},
};

#[tokio::test(flavor = "multi_thread")]
async fn the_fence_holds() {
    let workspace = Workspace::new();
    let secret = workspace.folders.path("token");
    fs::write(&secret, "secret").unwrap();
    let plugins = workspace.plugins(&["hashicorp/local"]);
    let provider = configured(&plugins, "hashicorp/local").await;
    let schema = provider.schema().await.unwrap();

    // A folder that was not granted can be neither read ...
    let block = &schema.data_sources.get("local_file").unwrap().block;
    let own = PathBuf::from(format!("/proc/{}/environ", std::process::id()));
    for (path, readable) in [
        (secret.clone(), false),
        (own, false),
        ("/proc/1/environ".into(), false),
        (workspace.world().join("mine"), true),
    ] {
        if path.starts_with(workspace.folders.path("")) {
            fs::write(&path, "secret").unwrap();
        }
        let settings = config(block, &[("filename", text(path.to_str().unwrap()))]);
        let request = ReadDataRequest {
            kind: "local_file",
            config: &settings,
            deferral_allowed: false,
            meta: None,
        };
        let answer = provider.read_data(request).await;
        assert_eq!(
            answer.has_errors(),
            !readable,
            "{} {:?}",
            path.display(),
            answer.diags
        );
    }
    // ... nor written.
    for (path, writable) in [
        (workspace.folders.path("new"), false),
        (workspace.world().join("new"), true),
    ] {
        let given = [
            ("filename", text(path.to_str().unwrap())),
            ("content", text("x")),
            ("file_permission", text("0600")),
            ("directory_permission", text("0700")),
        ];
        let settings = wanted(&*provider, "local_file", &given).await;
        let answer = apply(&*provider, "local_file", &Object::none(&settings), &settings).await;
        assert_eq!(
            (answer.has_errors(), path.exists()),
            (!writable, writable),
            "{:?}",
            answer.diags
        );
    }
}
