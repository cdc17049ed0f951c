//! Several methods, several installs at once, and Terraform's own cache.

use std::fs;

use ashlar_addr::Version;
use ashlar_install::{Hashes, InstallError, Location, Method, MirrorError, Platform};

use crate::{
    server::{Server, answer},
    site::{World, package, sum},
};

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

/// A folder as a mirror, with these versions unpacked.
fn folder(world: &World, versions: &[&str]) -> Method {
    let root = world.root.path().join("mirror");
    fs::create_dir_all(&root).unwrap();
    for version in versions {
        let place = root
            .join(world.provider.to_string())
            .join(version)
            .join(Platform::here().to_string());
        fs::create_dir_all(&place).unwrap();
        let program = place.join("terraform-provider-kiln");
        fs::write(&program, "from the folder").unwrap();
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    Method::of(Location::Filesystem(root))
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_of_all_methods_count_and_the_first_that_has_one_gives_it() {
    let world = World::new().await;
    let methods = vec![folder(&world, &["1.0.0", "0.9.0"]), Method::of(Location::Direct)];
    let installer = world.installer_of(methods, None);
    let shown: Vec<String> = installer
        .versions(&world.provider)
        .await
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(shown, ["0.9.0", "1.0.0", "1.1.0"]);
    for (wanted, want) in [("1.0.0", "from the folder"), ("1.1.0", "1.1.0")] {
        let installed = installer
            .install(&world.provider, &version(wanted), &Hashes::new())
            .await
            .unwrap();
        assert_eq!(fs::read_to_string(installed.binary().unwrap()).unwrap(), want);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_method_that_fails_is_not_passed_over() {
    let world = World::new().await;
    let broken = Method::of(Location::Network("https://127.0.0.1:9/".to_owned()));
    let installer = world.installer_of(vec![broken.clone(), Method::of(Location::Direct)], None);
    let told = installer.versions(&world.provider).await.unwrap_err();
    assert!(matches!(told, InstallError::Query { .. }), "{told}");
    let other = Method {
        exclude: vec![(&world.provider).into()],
        ..broken
    };
    let installer = world.installer_of(vec![other, Method::of(Location::Direct)], None);
    assert_eq!(installer.versions(&world.provider).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_for_a_provider_names_where_it_was_sought() {
    let world = World::new().await;
    let installer = world.installer_of(
        vec![folder(&world, &[]), Method::of(Location::Network(world.mirror()))],
        None,
    );
    let other = "forge.test/studio/kiln".parse().unwrap();
    let told = installer.versions(&other).await.unwrap_err().to_string();
    assert!(
        told.contains("the folder /") && told.contains("the provider mirror at https://localhost"),
        "{told}"
    );
    let folders = world.installer_of(vec![folder(&world, &[])], None);
    let told = folders.versions(&other).await.unwrap_err();
    assert!(
        matches!(told, InstallError::Mirror(MirrorError::Absent { .. })),
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_installs_at_once_make_one() {
    let world = World::new().await;
    let (one, other) = (world.direct(), world.direct());
    let wanted = version("1.1.0");
    let none = Hashes::new();
    let install = |installer: &ashlar_install::Installer| {
        let (installer, provider, wanted, none) = (
            installer.clone(),
            world.provider.clone(),
            wanted.clone(),
            none.clone(),
        );
        tokio::spawn(async move { installer.install(&provider, &wanted, &none).await.unwrap().folder })
    };
    // Two of one process, and one of another.
    let (a, b, c) = (install(&one), install(&one), install(&other));
    let (a, b, c) = (a.await.unwrap(), b.await.unwrap(), c.await.unwrap());
    assert!(a == b && b == c);
    assert_eq!(world.kept(), [format!("sha256-{}", sum(&package("1.1.0")))]);
    assert!(
        world.times(&World::zip("1.1.0")) <= 2,
        "a process fetches a package once"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn terraforms_cache_is_used_for_what_is_settled() {
    let world = World::new().await;
    let plugins = world.root.path().join("plugins");
    let installer = world.direct().with_plugin_cache(Some(plugins.clone()));
    let first = installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    let place = plugins
        .join(world.provider.to_string())
        .join("1.1.0")
        .join(Platform::here().to_string());
    assert_eq!(fs::read_dir(&place).unwrap().count(), 1);
    let second = installer
        .install(&world.provider, &version("1.1.0"), &first.hashes)
        .await
        .unwrap();
    assert_eq!(second.folder, place);
    // Nothing says what it should be.
    let third = installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    assert_eq!(third.folder, first.folder);
}

/// A registry of OCI with version 1.1.0 of the provider.
async fn oci(layer: &'static [u8]) -> Server {
    let (zip, here) = (package("1.1.0"), Platform::here());
    let zip_digest = format!("sha256:{}", sum(&zip));
    let target = serde_json::json!({
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "artifactType": "application/vnd.opentofu.provider-target",
        "layers": [{"mediaType": "archive/zip", "digest": zip_digest, "size": zip.len()}],
    })
    .to_string();
    let target_digest = format!("sha256:{}", sum(target.as_bytes()));
    let index = serde_json::json!({
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "artifactType": "application/vnd.opentofu.provider",
        "manifests": [{
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "artifactType": "application/vnd.opentofu.provider-target",
            "digest": target_digest, "size": target.len(),
            "platform": {"os": here.os, "architecture": here.arch},
        }],
    })
    .to_string();
    Server::start(move |asked| {
        let blob = if layer.is_empty() {
            zip.clone()
        } else {
            layer.to_vec()
        };
        let base = "/v2/providers/studio/kiln/";
        match asked.path.strip_prefix(base) {
            Some("tags/list") => answer(200, r#"{"tags": ["1.1.0", "1.2.0_x", "latest"]}"#),
            Some("manifests/1.1.0") => answer(200, index.clone()),
            Some(path) if path == format!("manifests/{target_digest}") => answer(200, target.clone()),
            Some(path) if path == format!("blobs/{zip_digest}") => answer(200, blob),
            _ => answer(404, "no such thing"),
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_oci_mirror_has_versions_as_tags_and_packages_by_platform() {
    let world = World::new().await;
    for (layer, sound) in [(&b""[..], true), (&b"evil"[..], false)] {
        let server = oci(layer).await;
        let include = [ashlar_install::Pattern::from(&world.provider)];
        let template = format!("{}/providers/${{namespace}}/${{type}}", server.address);
        let template = ashlar_install::Template::parse(&template, &include).unwrap();
        let installer = world.installer_of(vec![Method::of(Location::Oci(template))], None);
        let shown = installer.versions(&world.provider).await.unwrap();
        let shown: Vec<String> = shown.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["1.1.0", "1.2.0+x"]);
        let installed = installer
            .install(&world.provider, &version("1.1.0"), &Hashes::new())
            .await;
        if sound {
            let installed = installed.unwrap();
            assert_eq!(fs::read_to_string(installed.binary().unwrap()).unwrap(), "1.1.0");
            assert!(
                installed
                    .hashes
                    .contains(&format!("zh:{}", sum(&package("1.1.0"))))
            );
            fs::remove_dir_all(world.root.path().join("cache")).unwrap();
        } else {
            let refused = installed.unwrap_err();
            assert!(
                matches!(refused, InstallError::Checksum { .. } | InstallError::Keep { .. }),
                "{refused}"
            );
        }
        let other = "forge.test/studio/none".parse().unwrap();
        let told = installer.versions(&other).await.unwrap_err();
        assert!(matches!(told, InstallError::NotFound { .. }), "{told}");
    }
}
