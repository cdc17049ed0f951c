//! What a plugin reaches of the machine it runs on.

use std::{
    collections::BTreeMap,
    fs,
    num::NonZeroU32,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::PathBuf,
};

use ashlar_addr::Provider as Address;
use ashlar_port::{Providers, ReadDataRequest};
use ashlar_provider::Bounds;

use crate::{
    mirror,
    setup::{
        change::{Object, apply, wanted},
        values::{config, text},
    },
    until,
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

/// As the chart runs it with a user for providers; nobody but root can.
#[tokio::test(flavor = "multi_thread")]
async fn a_provider_of_another_user() {
    const USER: u32 = 61_003;
    let mut workspace = Workspace::new();
    workspace.bounds = Bounds {
        user: NonZeroU32::new(USER),
        memory: Some(1 << 30),
        open_files: Some(1024),
        file_size: Some(64 << 20),
        processes: Some(500),
    };
    let source = "hashicorp/random";
    let provider: Address = source.parse().unwrap();
    // The mirror itself may lie where that user does not come.
    let binary = workspace.folders.path("terraform-provider-random");
    fs::copy(workspace.folders.binary(mirror(), &provider), &binary).unwrap();
    fs::set_permissions(workspace.folders.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let plugins = workspace.with(BTreeMap::from([(provider.clone(), binary)]));
    if !rustix::process::geteuid().is_root() {
        let refused = plugins.start(&provider).await.map(drop).unwrap_err().to_string();
        assert!(
            refused.contains("its user and its limits could not be set"),
            "{refused}"
        );
        return;
    }
    let random = configured(&plugins, source).await;
    for private in fs::read_dir(workspace.folders.path("s")).unwrap() {
        let private = private.unwrap().metadata().unwrap();
        assert_eq!((private.uid(), private.mode() & 0o777), (USER, 0o700));
    }
    random.close().await;
    until(|| workspace.running() == 0).await;
}
