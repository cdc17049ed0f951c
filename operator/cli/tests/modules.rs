//! Modules that lie elsewhere, from the command line: fetched from git, pinned, and planned.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

struct World {
    root: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("home")).unwrap();
        let world = Self { root };
        world.write("repo/.keep", "");
        world.git(&["init", "--quiet", "--initial-branch=main"]);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=x", "-c", "user.email=x@x.test", "-C"])
            .arg(self.path("repo"))
            .args(arguments)
            .status();
        assert!(status.unwrap().success(), "{arguments:?}");
    }

    /// Commits a module whose output tells where it lies and what its file says.
    fn commit(&self, text: &str) {
        self.write(
            "repo/vpc/main.tf",
            "output \"told\" {\n  value = \"${path.module} ${file(\"${path.module}/text\")}\"\n}\n",
        );
        self.write("repo/vpc/text", text);
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "x"]);
    }

    fn ashlar(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_ashlar"))
            .args(arguments)
            .arg("--no-color")
            .arg("--dir")
            .arg(self.path("work"))
            .env("HOME", self.path("home"))
            .env_remove("XDG_CACHE_HOME")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap()
    }

    /// Runs it, and gives all that it says.
    fn told(&self, arguments: &[&str], success: bool) -> String {
        let output = self.ashlar(arguments);
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8(told).unwrap();
        assert_eq!(output.status.success(), success, "{arguments:?}: {told}");
        told
    }
}

fn calling(repo: &Path, more: &str) -> String {
    format!(
        "module \"vpc\" {{\n  source = \"git::file://{}//vpc?ref=main\"\n}}\noutput \"told\" {{\n  value = module.vpc.told\n}}\n{more}",
        repo.display()
    )
}

#[test]
fn a_module_is_fetched_pinned_and_upgraded() {
    let world = World::new();
    world.commit("one");
    world.write("work/main.tf", &calling(&world.path("repo"), ""));
    let told = world.told(&["validate"], true);
    assert!(told.contains("Downloading git::file://"), "{told}");
    assert!(
        told.contains("?ref=main for vpc...") && told.contains("is valid"),
        "{told}"
    );
    let told = world.told(&["plan"], true);
    assert!(!told.contains("Downloading"), "{told}");
    assert!(told.contains(".terraform/modules/vpc/vpc one"), "{told}");
    // The branch moves on; what was fetched stays.
    world.commit("two");
    let told = world.told(&["apply", "--auto-approve"], true);
    assert!(told.contains("vpc one"), "{told}");
    // Elsewhere too: the pin names the commit.
    fs::remove_dir_all(world.path("home/.cache")).unwrap();
    fs::remove_dir_all(world.path("work/.terraform")).unwrap();
    let told = world.told(&["plan"], true);
    assert!(
        told.contains("Downloading") && told.contains("No changes"),
        "{told}"
    );
    let told = world.told(&["plan", "--upgrade"], true);
    assert!(told.contains("vpc two"), "{told}");
    // What is pinned now is the new one; a call that is gone has no pin.
    let pins = || fs::read_to_string(world.path("work/.ashlar/modules.json")).unwrap();
    assert!(pins().contains("\"vpc\": {"), "{}", pins());
    world.write("work/main.tf", "");
    world.told(&["validate"], true);
    assert!(!pins().contains("vpc"), "{}", pins());
}

#[test]
fn what_cannot_be_fetched_is_told_at_its_line() {
    let world = World::new();
    world.commit("one");
    let repo = world.path("repo");
    let check = |text: &str, summary: &str, detail: &str| {
        world.write("work/main.tf", text);
        let told = world.told(&["validate"], false);
        assert!(
            told.contains(summary) && told.contains(detail) && told.contains("main.tf line"),
            "{told}"
        );
    };
    let source = |source: &str| format!("module \"m\" {{\n  source = \"{source}\"\n}}\n");
    let git = format!("git::file://{}", repo.display());
    check(
        &source(&format!("{git}?ref=none")),
        "Failed to download module",
        "no tag or branch",
    );
    check(
        &source(&format!("{git}//none")),
        "Unreadable module subdirectory",
        "none",
    );
    check(
        &source("hg::https://h.test/x"),
        "Failed to download module",
        "Mercurial",
    );
    world.write(
        "repo/vpc/main.tf",
        "module \"out\" {\n  source = \"../../../../elsewhere\"\n}\n",
    );
    world.git(&["commit", "--quiet", "--all", "--message", "x"]);
    world.write("work/main.tf", &calling(&repo, ""));
    let told = world.told(&["validate"], false);
    assert!(
        told.contains("Local module path escapes module package"),
        "{told}"
    );
}
