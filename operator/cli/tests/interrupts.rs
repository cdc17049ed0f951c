//! A run that is interrupted while a provider does not answer.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

/// No wait is longer than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// `slow` is not made before the provider has slept for an hour, whatever it is asked to meanwhile.
const MODULE: &str = r#"
terraform {
  required_providers {
    kiln = { source = "forge.test/studio/kiln" }
  }
}
resource "kiln_pot" "quick" {
  name = "quick"
}
resource "kiln_pot" "slow" {
  name       = "slow"
  delay_ms   = 3600000
  depends_on = [kiln_pot.quick]
}
resource "kiln_pot" "after" {
  name       = "after"
  depends_on = [kiln_pot.slow]
}
"#;

/// The test providers: those of `ASHLAR_PLUGIN_MIRROR`, or else those that the project's tools make.
fn mirror() -> PathBuf {
    match std::env::var_os("ASHLAR_PLUGIN_MIRROR") {
        Some(mirror) => mirror.into(),
        None => {
            let tools = ashlar_xtask::tools::build(&[ashlar_xtask::tools::Group::Providers]);
            let tools = tools.expect("the test providers could not be built");
            tools.path("ASHLAR_PLUGIN_MIRROR").unwrap().to_owned()
        }
    }
}

/// A module with a world that its provider acts on.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir(folder.world()).unwrap();
        fs::write(folder.0.path().join("main.tf"), MODULE).unwrap();
        folder
    }

    fn world(&self) -> PathBuf {
        self.0.path().join("world")
    }

    fn told(&self) -> String {
        fs::read_to_string(self.0.path().join("told")).unwrap()
    }

    /// Starts the program; what it prints goes to `told`.
    fn start(&self, arguments: &[&str], mirror: &Path) -> Child {
        let told = File::create(self.0.path().join("told")).unwrap();
        Command::new(env!("CARGO_BIN_EXE_ashlar"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("TF_WORKSPACE")
            .env("XDG_CACHE_HOME", self.0.path().join("cache"))
            .env("ASHLAR_PLUGIN_MIRROR", mirror)
            .env("KILN_DIR", self.world())
            .stdin(Stdio::null())
            .stdout(told.try_clone().unwrap())
            .stderr(told)
            .spawn()
            .unwrap()
    }

    fn wait_for(&self, text: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.told().contains(text) {
            assert!(Instant::now() < until, "{text:?} is not in {}", self.told());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Is there a process that acts on the world?
    fn is_acted_on(&self) -> bool {
        let world = self.world().into_os_string().into_string().unwrap();
        let processes = fs::read_dir("/proc").unwrap();
        processes.flatten().any(|process| {
            let environment = fs::read(process.path().join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&world)
        })
    }
}

fn interrupt(child: &Child) {
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

fn end_of(child: &mut Child) -> ExitStatus {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it did not end");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_second_interrupt_ends_a_provider_that_does_not_answer() {
    let (folder, mirror) = (Folder::new(), mirror());
    let mut run = folder.start(&["apply", "-auto-approve"], &mirror);
    folder.wait_for("kiln_pot.slow: Creating...");
    interrupt(&run);
    folder.wait_for("interrupt again to end");
    // The first one alone waits for the provider.
    std::thread::sleep(Duration::from_secs(2));
    assert!(run.try_wait().unwrap().is_none(), "{}", folder.told());
    assert!(folder.is_acted_on());
    interrupt(&run);
    let status = end_of(&mut run);
    assert_eq!(status.code(), Some(1), "{}", folder.told());
    let until = Instant::now() + Duration::from_secs(20);
    while folder.is_acted_on() {
        assert!(Instant::now() < until, "the provider is still there");
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = folder.told();
    assert!(told.contains("Interrupted again"), "{told}");
    assert!(told.contains("Apply incomplete! Resources: 1 added"), "{told}");
    assert!(!told.contains("kiln_pot.after: Creating"), "{told}");

    let mut listed = folder.start(&["state", "list"], &mirror);
    assert!(end_of(&mut listed).success(), "{}", folder.told());
    assert!(folder.told().contains("kiln_pot.quick"), "{}", folder.told());
    // Nobody knows what became of it, and the next run says so.
    let mut next = folder.start(&["plan"], &mirror);
    assert!(end_of(&mut next).success(), "{}", folder.told());
    let told = folder.told();
    assert!(told.contains("Changes with unknown outcome"), "{told}");
}
