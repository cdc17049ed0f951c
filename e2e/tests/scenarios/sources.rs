//! Sources that are fetched: git over ssh, Flux's objects, OCI artifacts, and modules of a private registry.

use anyhow::{Context, Result};
use ashlar_e2e::{Bench, Flux, Hosts, Namespace, Operator, condition, reason};
use ashlar_xtask::layout;
use serde_json::{Value, json};

use crate::kiln;

const MAIN: &str = r#"
terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
resource "kiln_pot" "it" {
  name  = "it"
  glaze = trimspace(file("${path.module}/glaze.txt"))
}
"#;

fn secret(name: &str, data: &[(&str, &str)]) -> String {
    let data: serde_json::Map<String, Value> = data
        .iter()
        .map(|(key, text)| ((*key).to_owned(), json!(text)))
        .collect();
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data}).to_string()
}

fn workspace(namespace: &Namespace, source: Value, spec: Value) -> String {
    let mut spec = spec;
    spec["source"] = source;
    kiln::workspace(namespace, "", spec)
}

/// The API server takes this example.
fn example(namespace: &Namespace, name: &str) -> Result<()> {
    let file = layout::root().join(format!("examples/sources/{name}.yaml"));
    let file = file.to_str().context("the path is no text")?;
    namespace
        .kubectl(&["apply", "--dry-run=server", "-f", file])
        .map(drop)
}

fn message(workspace: &Value, kind: &str) -> Option<String> {
    let conditions = workspace["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    found["message"].as_str().map(str::to_owned)
}

/// Waits until the source is refused for this reason, and gives what is said of it.
fn refused(namespace: &Namespace, why: &str, told: &str) -> Result<String> {
    namespace.wait(kiln::NAME, &format!("the source is {why}: {told}"), |workspace| {
        let said = message(workspace, "SourceReady")?;
        let as_told = reason(workspace, "SourceReady").as_deref() == Some(why) && said.contains(told);
        as_told.then_some(said)
    })
}

/// Waits until this revision was fetched and the plan, if one was needed, stands.
fn fetched(namespace: &Namespace, revision: &str) -> Result<Value> {
    namespace.wait(kiln::NAME, &format!("{revision} is fetched"), |workspace| {
        let known = workspace["status"]["source"]["revision"].as_str()?;
        (known.contains(revision) && condition(workspace, "Reconciling").is_none()).then(|| workspace.clone())
    })
}

/// Waits until the plan was applied and the pot has this glaze.
fn glazed(namespace: &Namespace, glaze: &str) -> Result<()> {
    namespace.wait(kiln::NAME, &format!("the pot is {glaze}"), |workspace| {
        let done = workspace["status"]["plan"]["standing"] == "Applied"
            && condition(workspace, "Ready").as_deref() == Some("True");
        let pot = namespace.world.pot("pot-it-1").ok()?;
        (done && pot["attributes"]["glaze"] == glaze).then_some(())
    })
}

#[test]
fn a_repository_is_fetched_over_ssh_with_a_deploy_key() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "git")?;
    let hosts = Hosts::start(&bench)?;
    let _operator = Operator::start(&namespace, &[])?;
    let shelf = "output \"of\" {\n  value = path.module\n}\n";
    hosts.commit("shelf", &[("parts/shelf/main.tf", shelf)])?;
    let calls = format!(
        "module \"shelf\" {{\n  source = \"git::http://{}/git/shelf.git//parts/shelf\"\n}}\n\
         module \"lid\" {{\n  source = \"../parts/lid\"\n}}\n\
         output \"it\" {{\n  value = \"${{module.shelf.of}} ${{module.lid.of}}\"\n}}\n",
        hosts.address("http")
    );
    let lid = "output \"of\" {\n  value = file(\"${path.module}/name\")\n}\n";
    let first = hosts.commit(
        "pots",
        &[
            ("deploy/main.tf", &format!("{MAIN}{calls}")),
            ("deploy/glaze.txt", "blue\n"),
            ("parts/lid/main.tf", lid),
            ("parts/lid/name", "lid"),
            ("README.md", "one"),
        ],
    )?;
    let key = hosts.text("deploy_key")?;
    // The server's own name, with the key of another.
    let known = hosts.text("known_hosts")?;
    let name = known.split_whitespace().next().context("known_hosts is empty")?;
    let other = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    let wrong = format!("{name} ssh-ed25519 {other}\n");
    namespace.apply(&secret("deploy", &[("identity", &key), ("known_hosts", &wrong)]))?;
    let url = format!("ssh://git@{}/pots", hosts.address("ssh"));
    let source = json!({
        "git": {"url": url, "ref": {"branch": "main"}, "secretRef": {"name": "deploy"}, "interval": "1h"},
        "path": "./deploy",
    });
    let spec = json!({"approval": {"policy": "Manual"}, "deletionPolicy": "Destroy", "retryInterval": "10m"});
    namespace.apply(&workspace(&namespace, source, spec))?;
    let told = refused(&namespace, "SourceFailed", "another key")?;
    assert!(!told.contains("PRIVATE KEY"), "{told}");
    assert_eq!(
        reason(&namespace.workspace(kiln::NAME)?, "Ready").as_deref(),
        Some("SourceFailed")
    );

    // Other credentials are tried at once, whatever the retry interval.
    namespace.apply(&secret("deploy", &[("identity", &key), ("known_hosts", &known)]))?;
    let digest = namespace.pending(kiln::NAME, "")?;
    let before = fetched(&namespace, &first)?;
    namespace.approve(kiln::NAME, &digest)?;
    glazed(&namespace, "blue")?;

    let outputs = namespace.workspace(kiln::NAME)?["status"]["outputs"].clone();
    assert_eq!(
        outputs[0]["value"],
        "\".terraform/modules/shelf/parts/shelf lid\""
    );

    // A file that no plan can read changes nothing but the revision.
    let second = hosts.commit("pots", &[("README.md", "two")])?;
    namespace.request(kiln::NAME, "two")?;
    let after = fetched(&namespace, &second)?;
    assert_eq!(
        after["status"]["source"]["configDigest"],
        before["status"]["source"]["configDigest"]
    );
    assert_eq!(
        after["status"]["inputs"]["digest"],
        before["status"]["inputs"]["digest"]
    );
    hosts.commit("pots", &[("deploy/glaze.txt", "green\n")])?;
    namespace.request(kiln::NAME, "three")?;
    let digest = namespace.pending(kiln::NAME, &digest)?;
    assert_eq!(
        namespace.workspace(kiln::NAME)?["status"]["plan"]["summary"]["text"],
        "+0 ~1 -0"
    );
    namespace.approve(kiln::NAME, &digest)?;
    glazed(&namespace, "green")?;

    // Without the repository what was applied last says what to destroy.
    drop(hosts);
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    let digest = namespace.pending(kiln::NAME, &digest)?;
    assert_eq!(
        namespace.workspace(kiln::NAME)?["status"]["plan"]["kind"],
        "Destroy"
    );
    namespace.approve(kiln::NAME, &digest)?;
    namespace.wait_gone(kiln::NAME)?;
    assert_eq!(namespace.world.pots()?, Vec::<String>::new());
    Ok(())
}

fn repository(hosts: &Hosts) -> String {
    json!({
        "apiVersion": "source.toolkit.fluxcd.io/v1",
        "kind": "GitRepository",
        "metadata": {"name": "pots"},
        "spec": {
            "url": format!("http://{}/git/pots.git", hosts.address("http")),
            "ref": {"branch": "main"},
            "interval": "1h",
        },
    })
    .to_string()
}

/// Has Flux fetch at once.
fn reconcile(namespace: &Namespace, token: &str) -> Result<()> {
    let annotation = format!("reconcile.fluxcd.io/requestedAt={token}");
    let line = [
        "annotate",
        "--overwrite",
        "gitrepositories.source.toolkit.fluxcd.io",
        "pots",
        &annotation,
    ];
    namespace.kubectl(&line).map(drop)
}

/// Says what artifact an object of kind ExternalArtifact has, as a controller of it would.
fn offer(namespace: &Namespace, url: &str, digest: &str) -> Result<()> {
    let artifact = json!({
        "url": url,
        "digest": digest,
        "revision": format!("v1@{digest}"),
        "path": "p",
        "lastUpdateTime": "2026-01-01T00:00:00Z",
    });
    let patch = json!({"status": {"artifact": artifact}}).to_string();
    let kind = "externalartifacts.source.toolkit.fluxcd.io";
    let line = [
        "patch",
        kind,
        "given",
        "--subresource=status",
        "--type=merge",
        "-p",
        &patch,
    ];
    namespace.kubectl(&line).map(drop)
}

#[test]
fn fluxs_objects_are_followed_and_their_artifacts_verified() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "flux")?;
    let hosts = Hosts::start(&bench)?;
    Flux::uninstall(&namespace)?;
    let _operator = Operator::start(&namespace, &[])?;
    let first = hosts.commit(
        "pots",
        &[
            (
                "live/main.tf",
                &format!("{MAIN}module \"m\" {{\n  source = \"../parts/none\"\n}}\n"),
            ),
            ("README.md", "one"),
        ],
    )?;
    let reference =
        |kind: &str, name: &str| json!({"sourceRef": {"kind": kind, "name": name}, "path": "live"});
    let manual = json!({"approval": {"policy": "Manual"}});
    namespace.apply(&workspace(
        &namespace,
        reference("GitRepository", "pots"),
        manual.clone(),
    ))?;
    refused(&namespace, "SourceNotReady", "install Flux")?;

    // Flux comes later than the operator, and is noticed.
    let _flux = Flux::start(&namespace)?;
    example(&namespace, "flux")?;
    namespace.apply(&repository(&hosts))?;
    fetched(&namespace, &first)?;
    let second = hosts.commit("pots", &[("live/main.tf", MAIN), ("live/glaze.txt", "blue")])?;
    reconcile(&namespace, "two")?;
    let digest = namespace.pending(kiln::NAME, "")?;
    let before = fetched(&namespace, &second)?;

    // An approval given for it stands through a commit that no plan can read.
    let third = hosts.commit("pots", &[("README.md", "two")])?;
    reconcile(&namespace, "three")?;
    let after = fetched(&namespace, &third)?;
    assert_eq!(after["status"]["plan"], before["status"]["plan"]);
    namespace.approve(kiln::NAME, &digest)?;
    glazed(&namespace, "blue")?;

    // A commit that it can read is planned, without being asked for.
    hosts.commit("pots", &[("live/glaze.txt", "green")])?;
    reconcile(&namespace, "four")?;
    let digest = namespace.pending(kiln::NAME, &digest)?;
    namespace.approve(kiln::NAME, &digest)?;
    glazed(&namespace, "green")?;

    // What is gone destroys nothing.
    namespace.kubectl(&["delete", "gitrepositories.source.toolkit.fluxcd.io", "pots"])?;
    refused(&namespace, "SourceNotReady", "does not exist")?;
    assert_eq!(namespace.world.pots()?, ["pot-it-1"]);

    // Another namespace's is refused, and so is an artifact that is not what its digest says.
    let elsewhere = json!({"sourceRef": {"kind": "GitRepository", "name": "pots", "namespace": "default"}});
    namespace.apply(&workspace(&namespace, elsewhere, manual.clone()))?;
    let workspace_ = namespace.wait_for(kiln::NAME, "Stalled", "True")?;
    let told = message(&workspace_, "Ready").unwrap_or_default();
    assert!(told.contains("--allow-cross-namespace-refs"), "{told}");
    let (archive, digest) = archive(&hosts, &[("live/main.tf", MAIN), ("live/glaze.txt", "white")])?;
    namespace.apply(
        &json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": "ExternalArtifact",
            "metadata": {"name": "given"},
            "spec": {"sourceRef": {"apiVersion": "v1", "kind": "ConfigMap", "name": "none"}},
        })
        .to_string(),
    )?;
    offer(&namespace, &archive, &format!("sha256:{}", "0".repeat(64)))?;
    let auto = json!({"approval": {"policy": "Auto"}});
    namespace.patch(
        kiln::NAME,
        &json!({"spec": {"approval": {"policy": "Auto", "approvedPlan": null}}}),
    )?;
    namespace.apply(&workspace(
        &namespace,
        reference("ExternalArtifact", "given"),
        auto,
    ))?;
    refused(&namespace, "SourceFailed", "digest")?;
    assert_eq!(namespace.world.pot("pot-it-1")?["attributes"]["glaze"], "green");
    offer(&namespace, &archive, &digest)?;
    glazed(&namespace, "white")?;
    Ok(())
}

/// Packs files as Flux does, and serves them; gives their address and digest.
fn archive(hosts: &Hosts, files: &[(&str, &str)]) -> Result<(String, String)> {
    let packed = hosts.pack("given.tar.gz", files)?;
    Ok((
        format!("http://{}/archives/given.tar.gz", hosts.address("http")),
        packed,
    ))
}

#[test]
fn an_oci_artifact_is_fetched_and_asked_for_newer_versions() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "oci")?;
    let hosts = Hosts::start(&bench)?;
    hosts.write("oci-password", "robot:s3cret-word")?;
    let _operator = Operator::start(&namespace, &[])?;
    let first = hosts.push("pots:1.0.0", &[("main.tf", MAIN), ("glaze.txt", "blue")])?;
    let url = format!("oci://{}/pots", hosts.address("oci"));
    let source = |secret: Value| {
        let mut oci = json!({"url": url, "ref": {"semver": ">=1.0.0 <2.0.0"}, "interval": "30s"});
        oci["secretRef"] = secret;
        json!({ "oci": oci })
    };
    let auto = json!({"approval": {"policy": "Auto"}});
    namespace.apply(&workspace(&namespace, source(Value::Null), auto.clone()))?;
    refused(&namespace, "SourceFailed", "")?;
    let account = [("username", "robot"), ("password", "s3cret-word")];
    namespace.apply(&secret("robot", &account))?;
    namespace.apply(&workspace(&namespace, source(json!({"name": "robot"})), auto))?;
    glazed(&namespace, "blue")?;
    let workspace = fetched(&namespace, &first)?;
    assert!(!workspace["status"].to_string().contains("s3cret-word"));

    hosts.push("pots:2.0.0", &[("main.tf", MAIN), ("glaze.txt", "red")])?;
    let second = hosts.push("pots:1.1.0", &[("main.tf", MAIN), ("glaze.txt", "green")])?;
    // It is asked for each half minute.
    fetched(&namespace, &second)?;
    glazed(&namespace, "green")?;
    Ok(())
}

const CALLS: &str = r#"
terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
module "pot" {
  source  = "HOST/studio/pot/kiln"
  version = "~> 1.0"
}
module "shelf" {
  source = "git::http://GIT/git/shelf.git//parts/shelf?ref=main"
}
output "folder" {
  value = module.pot.folder
}
"#;

const POT: &str = r#"
terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
resource "kiln_pot" "it" {
  name  = "it"
  glaze = trimspace(file("${path.module}/glaze.txt"))
}
module "inner" {
  source = "./inner"
}
output "folder" {
  value = "${path.module} ${module.inner.folder}"
}
"#;

#[test]
fn modules_of_a_private_registry_are_fetched_with_its_token_and_pinned() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "registry")?;
    let hosts = Hosts::start(&bench)?;
    let _operator = Operator::start(&namespace, &[])?;
    let publish = |version: &str, glaze: &str| -> Result<()> {
        let module = format!("modules/studio/pot/kiln/{version}");
        hosts.write(&format!("{module}/main.tf"), POT)?;
        hosts.write(&format!("{module}/glaze.txt"), glaze)?;
        let inner = "output \"folder\" {\n  value = path.module\n}\n";
        hosts.write(&format!("{module}/inner/main.tf"), inner)
    };
    publish("1.0.0", "white")?;
    publish("1.1.0", "blue")?;
    publish("2.0.0", "red")?;
    hosts.write("module-token", "t0ken-word")?;
    let shelf = hosts.commit(
        "shelf",
        &[("parts/shelf/main.tf", "output \"a\" {\n  value = 1\n}\n")],
    )?;
    let host = hosts.address("modules");
    let main = CALLS.replace("HOST", host).replace("GIT", hosts.address("http"));
    let inline = json!({"inline": {"files": {"main.tf": main}}});
    let manual = json!({"approval": {"policy": "Manual"}, "deletionPolicy": "Destroy"});

    // Without the token nobody learns more than that it is needed.
    let ca = hosts.text("ca.crt")?;
    namespace.apply(&secret("registry", &[("ca.crt", &ca)]))?;
    let mut spec = manual;
    spec["moduleCredentials"] = json!([{"host": host, "secretRef": {"name": "registry"}}]);
    namespace.apply(&workspace(&namespace, inline, spec))?;
    let told = refused(&namespace, "SourceFailed", "module.pot")?;
    assert!(told.contains("credential") || told.contains("401"), "{told}");
    namespace.apply(&secret(
        "registry",
        &[("ca.crt", &ca), ("bearerToken", "t0ken-word")],
    ))?;
    let digest = namespace.pending(kiln::NAME, "")?;
    let workspace = namespace.workspace(kiln::NAME)?;
    assert!(!workspace["status"].to_string().contains("t0ken-word"));
    let pins = &workspace["status"]["source"]["modules"];
    let source = format!("{host}/studio/pot/kiln");
    assert_eq!(
        (&pins[0]["source"], &pins[0]["version"]),
        (&json!(source), &json!("1.1.0"))
    );
    assert_eq!(pins[1]["revision"], shelf);

    // A newer version, and a branch that moved, are other modules: the plan that is approved is of those that are pinned.
    publish("1.2.0", "green")?;
    hosts.commit("shelf", &[("parts/shelf/main.tf", "output {")])?;
    namespace.request(kiln::NAME, "again")?;
    namespace.approve(kiln::NAME, &digest)?;
    glazed(&namespace, "blue")?;
    let workspace = namespace.workspace(kiln::NAME)?;
    assert_eq!(
        workspace["status"]["outputs"][0]["value"],
        "\".terraform/modules/pot .terraform/modules/pot/inner\""
    );

    // What is kept with the plan is enough to destroy by.
    drop(hosts);
    namespace.kubectl(&["delete", "workspaces.ashlar.dev", kiln::NAME, "--wait=false"])?;
    let digest = namespace.pending(kiln::NAME, &digest)?;
    namespace.approve(kiln::NAME, &digest)?;
    namespace.wait_gone(kiln::NAME)?;
    assert_eq!(namespace.world.pots()?, Vec::<String>::new());
    Ok(())
}

#[test]
fn a_source_that_cannot_be_meant_is_refused_at_once() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "meant")?;
    let check = |source: Value, told: &str| {
        let refused = namespace.apply(&workspace(&namespace, source.clone(), json!({})));
        let error = refused.err().map(|error| error.to_string()).unwrap_or_default();
        if told.is_empty() {
            assert_eq!(error, "", "{source}");
        } else {
            assert!(error.contains(told), "{source}: {error}");
        }
    };
    let git = |url: &str| json!({"url": url});
    let plain = git("https://host.test/r");
    check(json!({}), "exactly one of");
    check(
        json!({"git": plain, "oci": {"url": "oci://host.test/r"}}),
        "exactly one of",
    );
    check(
        json!({"inline": {"files": {"main.tf": ""}}, "path": "a"}),
        "path has a meaning",
    );
    for path in ["/a", "..", "../a", "a/../b", "a/.."] {
        check(json!({"git": plain, "path": path}), "leads nowhere out of it");
    }
    check(
        json!({"git": git("https://me:pw@host.test/r")}),
        "user and password in the Secret",
    );
    check(json!({"git": git("file:///etc")}), "spec.source.git.url");
    check(
        json!({"git": {"url": "https://host.test/r", "ref": {"branch": "a", "tag": "b"}}}),
        "one of branch, tag, semver and commit",
    );
    check(
        json!({"oci": {"url": "oci://host.test/r:tag"}}),
        "spec.source.oci.url",
    );
    check(
        json!({"oci": {"url": "oci://host.test/r", "ref": {"tag": "a", "semver": "b"}}}),
        "one of tag, semver and digest",
    );
    check(
        json!({"git": {"url": "https://host.test/r", "interval": "5s"}}),
        "from 30s to 8760h",
    );
    check(
        json!({"sourceRef": {"kind": "HelmRepository", "name": "x"}}),
        "spec.source.sourceRef.kind",
    );
    for path in [".", "./", "a/b", "a..b/..c"] {
        check(json!({"git": plain, "path": path}), "");
    }
    for name in ["git", "oci", "modules"] {
        example(&namespace, name)?;
    }
    Ok(())
}

#[test]
fn nothing_is_fetched_from_the_operators_own_machine_and_the_clouds_places() -> Result<()> {
    let bench = Bench::open()?;
    let namespace = Namespace::new(&bench, "reach")?;
    let hosts = Hosts::start(&bench)?;
    hosts.commit("pots", &[("main.tf", MAIN)])?;
    // What the tests permit otherwise is not permitted here.
    let _operator = Operator::start(&namespace, &["--permit-network", "192.0.2.0/24"])?;
    let (_, port) = hosts.address("http").split_once(':').context("no port")?;
    for (host, told) in [
        (format!("127.0.0.1:{port}"), "loopback"),
        (format!("localhost:{port}"), "loopback"),
        (format!("[::ffff:127.0.0.1]:{port}"), "loopback"),
        ("169.254.169.254".to_owned(), "link-local"),
    ] {
        let source = json!({"git": {"url": format!("http://{host}/git/pots.git")}});
        namespace.apply(&workspace(&namespace, source, json!({})))?;
        refused(&namespace, "SourceFailed", told)?;
    }
    Ok(())
}
