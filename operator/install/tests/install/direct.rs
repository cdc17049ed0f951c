//! One method alone: what it has, and all that may be wrong with it.

use ashlar_addr::Version;
use ashlar_install::{Hashes, InstallError, Installer, Notice, Platform};

use crate::site::{World, noting, package, sign, sum};

fn version(text: &str) -> Version {
    text.parse().unwrap()
}

async fn told(installer: &Installer, world: &World) -> InstallError {
    let installed = installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await;
    installed.unwrap_err()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_has_versions_and_signed_packages() {
    let world = World::new().await;
    let (installer, notes) = noting(world.direct());
    let provider = &world.provider;
    let newest = installer
        .choose(provider, &">= 1.0".parse().unwrap(), &[])
        .await
        .unwrap();
    assert_eq!(newest, version("1.1.0"));
    let installed = installer
        .install(provider, &newest, &Hashes::new())
        .await
        .unwrap();
    let binary = installed.binary().unwrap();
    assert_eq!(std::fs::read_to_string(binary).unwrap(), "1.1.0");
    let zh = format!("zh:{}", sum(&package("1.1.0")));
    assert!(installed.hashes.contains(&zh) && installed.hashes.len() == 2);
    assert_eq!(installed.vouched, [zh, format!("zh:{}", sum(b"other"))].into());
    let place = format!("the registry {}", provider.host);
    assert_eq!(
        *notes.lock().unwrap(),
        [
            Notice::Fetching(provider.clone(), newest.clone(), place),
            Notice::Fetched(provider.clone(), newest, Some("7C2288E450E26DAF".to_owned())),
        ]
    );
    // A second process finds it, with all that was signed, and asks nobody.
    let before = world.server.asked().len();
    let again = world
        .direct()
        .install(provider, &version("1.1.0"), &installed.hashes)
        .await
        .unwrap();
    assert_eq!(
        (again.folder, again.vouched),
        (installed.folder, installed.vouched)
    );
    assert_eq!(world.server.asked().len(), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_vouches_for_what_it_hands_out_alone() {
    let world = World::new().await;
    let installer = world.mirrored();
    let newest = installer
        .choose(&world.provider, &"< 1.1".parse().unwrap(), &[])
        .await
        .unwrap();
    let installed = installer
        .install(&world.provider, &newest, &Hashes::new())
        .await
        .unwrap();
    assert_eq!(newest, version("1.0.0"));
    assert!(
        installed
            .hashes
            .contains(&format!("zh:{}", sum(&package("1.0.0"))))
    );
    assert!(installed.vouched.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_vouches_for_nothing_must_be_encrypted() {
    let world = World::new().await;
    let index = format!("/m/{}/studio/kiln/1.1.0.json", world.server.host());
    world.change(|site| {
        let zip = format!("\"../../../..{}\"", World::zip("1.1.0"));
        site.edit(&index, &zip, "\"http://127.0.0.1:9/x.zip\"");
    });
    let vouched = told(&world.mirrored(), &world).await;
    assert!(matches!(vouched, InstallError::Fetch { .. }), "{vouched}");
    world.change(|site| site.edit(&index, "zh:", "xx:"));
    let odd = told(&world.mirrored(), &world).await;
    assert!(matches!(odd, InstallError::Fetch { .. }), "{odd}");
    world.change(|site| site.edit(&index, "hashes", "none"));
    let refused = told(&world.mirrored(), &world).await;
    assert!(matches!(refused, InstallError::Answer { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hash_of_another_scheme_vouches_for_nothing() {
    let world = World::new().await;
    let index = format!("/m/{}/studio/kiln/1.1.0.json", world.server.host());
    world.change(|site| site.edit(&index, "zh:", "xx:"));
    let refused = told(&world.mirrored(), &world).await;
    assert!(matches!(refused, InstallError::Checksum { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn none_that_fits_is_told_with_who_asks() {
    let world = World::new().await;
    let asks = ["the root module (main.tf line 3) asks for ~> 2.0".to_owned()];
    let told = world
        .direct()
        .choose(&world.provider, &"~> 2.0".parse().unwrap(), &asks)
        .await;
    let told = told.unwrap_err().to_string();
    let want = format!(
        "no version of provider {} meets ~> 2.0; there are: 1.1.0, 1.0.0\n  - the root module (main.tf line 3) asks for ~> 2.0",
        world.provider
    );
    assert_eq!(told, want);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_package_than_the_one_promised_is_not_used() {
    let world = World::new().await;
    world
        .site
        .lock()
        .unwrap()
        .files
        .insert(World::zip("1.1.0"), package("evil"));
    for installer in [world.direct(), world.mirrored()] {
        let told = told(&installer, &world).await;
        assert!(matches!(told, InstallError::Checksum { .. }), "{told}");
    }
    let list = format!("{}  {}\n", sum(&package("evil")), "other.zip");
    world.change(|site| {
        site.files
            .insert("/files/1.1.0_SHA256SUMS.sig".to_owned(), sign(list.as_bytes()));
        site.files
            .insert("/files/1.1.0_SHA256SUMS".to_owned(), list.into_bytes());
    });
    let told = told(&world.direct(), &world).await;
    assert!(matches!(told, InstallError::Sums { .. }), "{told}");
    assert!(world.kept().is_empty(), "nothing wrong is kept, by any name");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_has_the_wrong_files_is_not_kept() {
    let world = World::new().await;
    let installed = world
        .mirrored()
        .install(&world.provider, &version("1.0.0"), &Hashes::new())
        .await
        .unwrap();
    let h1 = installed
        .hashes
        .iter()
        .find(|hash| hash.starts_with("h1:"))
        .unwrap();
    let before = world.kept();
    // A mirror that tells hashes of files alone, as `terraform providers mirror` has them: of another package.
    let index = format!("/m/{}/studio/kiln/1.1.0.json", world.server.host());
    let zh = format!("zh:{}", sum(&package("1.1.0")));
    world.change(|site| site.edit(&index, &zh, h1));
    let wrong = told(&world.mirrored(), &world).await;
    assert!(matches!(wrong, InstallError::Checksum { .. }), "{wrong}");
    assert_eq!(world.kept(), before);
    // One that tells the right ones, of what the lock file does not settle.
    world.change(|site| {
        site.files.insert(World::zip("1.1.0"), package("1.0.0"));
    });
    for settled in ["h1:of another package", &zh] {
        let locked = world
            .mirrored()
            .install(&world.provider, &version("1.1.0"), &[settled.to_owned()].into())
            .await
            .unwrap_err();
        assert!(matches!(locked, InstallError::Locked { .. }), "{locked}");
    }
    let world = World::new().await;
    let settled = ["h1:of another package".to_owned()].into();
    let locked = world
        .direct()
        .install(&world.provider, &version("1.1.0"), &settled)
        .await;
    assert!(matches!(locked, Err(InstallError::Locked { .. })));
    assert!(world.kept().is_empty(), "what is not settled is not kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_nobody_signed_is_not_trusted() {
    let world = World::new().await;
    let seal = "/files/1.1.0_SHA256SUMS.sig".to_owned();
    world
        .site
        .lock()
        .unwrap()
        .files
        .insert(seal.clone(), sign(b"another list"));
    let wrong = told(&world.direct(), &world).await;
    assert!(matches!(&wrong, InstallError::Signature { .. }), "{wrong}");
    let diag = ashlar_diag::Diag::from(wrong);
    assert_eq!(diag.summary, "Failed to install provider");
    world
        .site
        .lock()
        .unwrap()
        .edit(&World::told("1.1.0"), "gpg_public_keys", "no_keys");
    let unknown = told(&world.direct(), &world).await;
    assert!(
        unknown.to_string().contains("signed by none of the keys"),
        "{unknown}"
    );
    world.site.lock().unwrap().files.remove(&seal);
    let gone = told(&world.direct(), &world).await;
    assert!(matches!(gone, InstallError::Query { .. }), "{gone}");
    assert_eq!(
        world.times(&World::zip("1.1.0")),
        0,
        "the package was not even fetched"
    );
    assert!(world.kept().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_archive_leaves_nothing() {
    let world = World::new().await;
    let mut zip = package("1.1.0");
    zip.truncate(zip.len() - 10);
    world.change(|site| {
        site.files.insert(World::zip("1.1.0"), zip);
        let index = format!("/m/{}/studio/kiln/1.1.0.json", world.server.host());
        site.edit(&index, "hashes", "none");
    });
    let wrong = told(&world.direct(), &world).await;
    assert!(matches!(wrong, InstallError::Checksum { .. }), "{wrong}");
    // A mirror that promises nothing.
    let wrong = told(&world.mirrored(), &world).await;
    assert!(matches!(wrong, InstallError::Keep { .. }), "{wrong}");
    assert!(world.kept().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_download_leaves_nothing_and_goes_well_later() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let world = World::new().await;
    // Promises more than it sends.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let task = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await.unwrap();
            let head = b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\nPK\x03\x04";
            stream.write_all(head).await.unwrap();
        }
    });
    let (path, from) = (World::told("1.1.0"), format!("\"{}\"", World::zip("1.1.0")));
    let to = format!("\"http://127.0.0.1:{port}/x.zip\"");
    world.site.lock().unwrap().edit(&path, &from, &to);
    let installer = world.direct();
    let broken = told(&installer, &world).await;
    assert!(
        broken.is_passing() && broken.to_string().contains("broke off"),
        "{broken}"
    );
    assert!(world.kept().is_empty());
    task.abort();
    world.site.lock().unwrap().edit(&path, &to, &from);
    let installed = installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    assert_eq!(
        world.kept(),
        [installed.folder.file_name().unwrap().to_str().unwrap()]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn redirects_are_followed_but_not_in_circles() {
    let world = World::new().await;
    let (zip, other) = (World::zip("1.1.0"), World::zip("1.0.0"));
    world.change(|site| {
        site.redirects.insert(zip.clone(), "/moved.zip".to_owned());
        let bytes = site.files[&zip].clone();
        site.files.insert("/moved.zip".to_owned(), bytes);
        site.redirects.insert(other.clone(), other);
    });
    let installer = world.direct();
    installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    let circle = installer
        .install(&world.provider, &version("1.0.0"), &Hashes::new())
        .await
        .unwrap_err();
    assert!(
        circle.to_string().contains("redirects more than 10 times"),
        "{circle}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_is_asked_again_when_it_wants_to_be() {
    let world = World::new().await;
    let versions = "/p/studio/kiln/versions".to_owned();
    let installer = world.direct();
    world
        .site
        .lock()
        .unwrap()
        .first
        .insert(versions.clone(), vec![(429, Some("1"))]);
    world
        .site
        .lock()
        .unwrap()
        .first
        .insert(World::zip("1.1.0"), vec![(503, Some("0"))]);
    let begun = std::time::Instant::now();
    installer
        .choose(&world.provider, &"1.1.0".parse().unwrap(), &[])
        .await
        .unwrap();
    assert!(begun.elapsed().as_millis() >= 1000, "it was not waited for");
    installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    assert_eq!(
        (world.times(&versions), world.times(&World::zip("1.1.0"))),
        (2, 2)
    );
    // Too long, and too often.
    for (first, want) in [
        (vec![(503, Some("3600"))], "asked again in 3600 seconds"),
        (vec![(429, Some("0")), (429, Some("0"))], "429 Too Many Requests"),
    ] {
        let fresh = world.direct();
        world.site.lock().unwrap().first.insert(versions.clone(), first);
        let told = fresh.versions(&world.provider).await.unwrap_err();
        assert!(told.to_string().contains(want) && told.is_passing(), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_shown_to_the_registry_and_nobody_else() {
    let world = World::new().await;
    world.site.lock().unwrap().token = Some("Bearer s3cret".to_owned());
    let refused = world.direct().versions(&world.provider).await.unwrap_err();
    assert!(refused.to_string().contains("401"), "{refused}");
    let wrong = world
        .installer_of(direct(), Some("wr0ng"))
        .versions(&world.provider)
        .await
        .unwrap_err();
    assert!(!format!("{wrong} {wrong:?}").contains("wr0ng"), "{wrong}");
    // Packages elsewhere are not shown it: here, under another name of the same machine.
    let elsewhere = crate::server::Server::start(|_| crate::server::answer(200, package("1.1.0"))).await;
    let from = format!("\"{}\"", World::zip("1.1.0"));
    let to = format!("\"{}\"", elsewhere.url("/x.zip"));
    world.site.lock().unwrap().edit(&World::told("1.1.0"), &from, &to);
    let installer = world.installer_of(direct(), Some("s3cret"));
    installer
        .install(&world.provider, &version("1.1.0"), &Hashes::new())
        .await
        .unwrap();
    assert_eq!(elsewhere.asked().len(), 1);
    assert_eq!(elsewhere.asked()[0].header("authorization"), None);
}

fn direct() -> Vec<ashlar_install::Method> {
    vec![ashlar_install::Method::of(ashlar_install::Location::Direct)]
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_here_is_told() {
    let world = World::new().await;
    let path = World::told("1.1.0");
    let summary = |error: InstallError| ashlar_diag::Diag::from(error).summary.into_owned();
    world.site.lock().unwrap().edit(&path, "5.0", "7.0");
    let (from, to) = (
        "[\"5.0\"],\"version\":\"1.1.0\"",
        "[\"7.0\"],\"version\":\"1.1.0\"",
    );
    world
        .site
        .lock()
        .unwrap()
        .edit("/p/studio/kiln/versions", from, to);
    let protocol = told(&world.direct(), &world).await.asked(">= 1.0");
    let want = "The nearest compatible version is the older 1.0.0; select it with version = \"1.0.0\" (asked for: >= 1.0)";
    assert!(protocol.to_string().ends_with(want), "{protocol}");
    assert_eq!(summary(protocol), "Incompatible provider version");
    let missing: Platform = "plan9_mips".parse().unwrap();
    let absent = world
        .direct()
        .install_for(&world.provider, &version("1.0.0"), &missing, &Hashes::new())
        .await;
    let absent = absent.unwrap_err();
    assert!(absent.to_string().contains("for plan9_mips"), "{absent}");
    assert_eq!(summary(absent), "Incompatible provider version");
    let unknown = format!("{}/studio/none", world.server.host()).parse().unwrap();
    let unknown = world.direct().versions(&unknown).await.unwrap_err();
    assert!(matches!(unknown, InstallError::Unknown { .. }), "{unknown}");
    world
        .site
        .lock()
        .unwrap()
        .edit("/.well-known/terraform.json", "providers.v1", "modules.v1");
    let none = world.direct().versions(&world.provider).await.unwrap_err();
    assert_eq!(summary(none), "Invalid provider registry host");
    world
        .site
        .lock()
        .unwrap()
        .edit("/p/studio/kiln/versions", "[{", "{");
    world
        .site
        .lock()
        .unwrap()
        .edit("/.well-known/terraform.json", "modules.v1", "providers.v1");
    let nonsense = world.direct().versions(&world.provider).await.unwrap_err();
    assert!(matches!(nonsense, InstallError::Answer { .. }), "{nonsense}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_settled_is_obeyed() {
    let world = World::new().await;
    let installer = world.direct();
    let install = async |settled: &[&str]| {
        let settled: Hashes = settled.iter().map(ToString::to_string).collect();
        installer
            .install(&world.provider, &version("1.1.0"), &settled)
            .await
    };
    let zh = format!("zh:{}", sum(&package("1.1.0")));
    let installed = install(&[&zh]).await.unwrap();
    let h1 = installed
        .hashes
        .iter()
        .find(|hash| hash.starts_with("h1:"))
        .unwrap();
    install(&[h1, "zh:of another platform"]).await.unwrap();
    let refused = install(&["h1:of another package"]).await.unwrap_err();
    assert!(matches!(refused, InstallError::Locked { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_package_in_the_cache_is_fetched_anew() {
    let world = World::new().await;
    let install = async || {
        let installed = world
            .direct()
            .install(&world.provider, &version("1.1.0"), &Hashes::new())
            .await;
        installed.unwrap()
    };
    let first = install().await;
    std::fs::write(first.binary().unwrap(), "evil").unwrap();
    let second = install().await;
    assert_eq!(
        std::fs::read_to_string(second.binary().unwrap()).unwrap(),
        "1.1.0"
    );
    assert_eq!(world.times(&World::zip("1.1.0")), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_offline_is_told_at_once() {
    let world = World::new().await;
    let installer = world.direct();
    // Nobody listens there.
    let provider = "127.0.0.1:9/studio/kiln".parse().unwrap();
    let begun = std::time::Instant::now();
    let told = installer.versions(&provider).await.unwrap_err();
    assert!(begun.elapsed().as_millis() < 900, "it was tried again");
    assert!(
        matches!(told, InstallError::Host { .. }) && told.is_passing(),
        "{told}"
    );
}
