//! Programs that a configuration names, through the real launcher and its fence.
//!
//! A test program of its own: some of them fork for as long as they can, and what runs beside them finds no processes left.

#![expect(
    clippy::unwrap_used,
    reason = "these are tests, but their helpers stand outside of test functions"
)]

#[expect(dead_code, reason = "other test programs start plugins in theirs")]
#[path = "setup/folders.rs"]
mod folders;
#[path = "setup/nowhere.rs"]
mod nowhere;

use std::{
    ffi::OsString,
    num::NonZeroU32,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use ashlar_provider::{Bounds, Ending, LaunchOptions, Launcher, Program};

use folders::Folders;

/// Stands in for `ashlar launch`.
fn launcher() -> Launcher {
    Launcher {
        program: env!("CARGO_BIN_EXE_ashlar-launch").into(),
        arguments: Vec::new(),
    }
}

/// Does a process run? One that nobody waited for is still listed, as a zombie.
fn alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// A folder with a secret beside the module's folder.
struct Bench {
    folders: Folders,
    variables: Vec<(OsString, OsString)>,
    bounds: Bounds,
}

impl Bench {
    fn new() -> Self {
        let folders = Folders::new();
        for name in ["module", "secrets", "shared"] {
            std::fs::create_dir(folders.path(name)).unwrap();
        }
        std::fs::write(folders.path("module/file"), "of the module").unwrap();
        std::fs::write(folders.path("secrets/token"), "of the operator").unwrap();
        Self {
            folders,
            variables: Vec::new(),
            bounds: Bounds::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folders.path(name)
    }

    /// What a program prints, and how it ended.
    async fn run(&self, binary: &Path, arguments: &[&str]) -> (String, Ending) {
        let options = LaunchOptions {
            bounds: self.bounds,
            working_folder: self.path("module"),
            readable: vec![self.path("module")],
            writable: vec![self.path("shared")],
            handshake: Duration::from_secs(1),
            ..self.folders.launch(launcher(), Vec::new())
        };
        let program = Program {
            binary: binary.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            folder: self.path("module"),
            variables: self.variables.clone(),
        };
        let mut printed = Vec::new();
        let stop = async {
            // Said by the program, where it is to be stopped.
            while !self.path("shared/stop").exists() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let run = program.run(&options, |bytes| printed.extend_from_slice(bytes), stop);
        let ending = tokio::time::timeout(Duration::from_secs(30), run)
            .await
            .unwrap()
            .unwrap();
        (String::from_utf8(printed).unwrap(), ending)
    }

    async fn shell(&self, command: &str) -> (String, Ending) {
        self.run(Path::new("/bin/sh"), &["-c", command]).await
    }
}

fn succeeded(ending: Ending) -> bool {
    matches!(ending, Ending::Exited(status) if status.success())
}

#[tokio::test]
async fn a_program_reads_its_bundle_and_writes_to_its_private_folder_alone() {
    let bench = Bench::new();
    let (printed, ending) = bench.shell("cat file; echo x > $TMPDIR/x && cat $TMPDIR/x").await;
    assert!(succeeded(ending));
    assert_eq!(printed, "of the modulex\n");
    for command in ["cat ../secrets/token", "cat /proc/$PPID/environ", "echo x > file"] {
        let (printed, ending) = bench.shell(command).await;
        assert!(
            !succeeded(ending) && printed.contains("Permission denied"),
            "{command}: {printed}"
        );
    }
}

#[tokio::test]
async fn the_folder_of_an_interpreter_is_not_opened() {
    let bench = Bench::new();
    let interpreter = bench.path("secrets/sh");
    std::fs::copy("/bin/sh", &interpreter).unwrap();
    std::fs::set_permissions(&interpreter, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (printed, ending) = bench.run(&interpreter, &["-c", "cat ../secrets/token"]).await;
    assert!(
        !succeeded(ending) && !printed.contains("of the operator"),
        "{printed}"
    );
}

#[tokio::test]
async fn what_a_variable_names_is_loaded_within_the_fence() {
    let mut bench = Bench::new();
    bench.variables = vec![("LD_PRELOAD".into(), bench.path("secrets/token").into())];
    // The loader of the program complains, that of the launcher would have done so, too.
    let (printed, ending) = bench.shell("echo $LD_PRELOAD; env | grep -c ASHLAR").await;
    assert!(!succeeded(ending), "{printed}");
    let complaints = printed.matches("LD_PRELOAD cannot be preloaded").count();
    let programs = ["sh", "env", "grep"].len();
    assert!((1..=programs).contains(&complaints), "{printed}");
    assert!(
        printed.contains("secrets/token\n") && printed.ends_with("0\n"),
        "{printed}"
    );
}

/// Waits until a process is gone.
async fn until_gone(pid: &str) {
    let gone = async {
        while alive(pid.trim()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed() {
    let bench = Bench::new();
    let (printed, ending) = bench.shell("sleep 600 & echo $!").await;
    assert!(succeeded(ending));
    until_gone(&printed).await;
    // One that leaves its group and its session, and one that never stops talking.
    let escape = "setsid --fork sh -c 'echo $$ > \"$0\"; exec sleep 600' ../shared/pid; \
                  while ! test -s ../shared/pid; do :; done; \
                  setsid --fork sh -c 'while :; do echo x; done'; exit 3";
    let begun = std::time::Instant::now();
    let (_, ending) = bench.shell(escape).await;
    assert!(
        matches!(ending, Ending::Exited(status) if status.code() == Some(3)),
        "{ending:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(20));
    until_gone(&std::fs::read_to_string(bench.path("shared/pid")).unwrap()).await;
}

/// Each process lives for a moment, leaves its session, and has started the next before it ends. So that a fault here
/// ends too, it is over after a minute.
const COMETS: &str = "use POSIX; my ($end, $first) = (time() + 60, $$); for (1..50) { last unless fork() } \
                      POSIX::_exit(0) if $$ == $first; \
                      while (time() < $end) { my $next = fork(); POSIX::_exit(0) if $next; POSIX::setsid() }";

#[tokio::test]
async fn what_never_stands_still_is_caught() {
    let mut bench = Bench::new();
    bench.variables = vec![("ASHLAR_COMETS".into(), "1".into())];
    let begun = std::time::Instant::now();
    let (_, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", COMETS]).await;
    assert!(succeeded(ending), "{ending:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let is_comet = |entry: std::io::Result<std::fs::DirEntry>| {
        let environment = std::fs::read(entry.ok()?.path().join("environ")).ok()?;
        Some(String::from_utf8_lossy(&environment).contains("ASHLAR_COMETS=1\0"))
    };
    for _ in 0..20 {
        let left = std::fs::read_dir("/proc")
            .unwrap()
            .filter_map(is_comet)
            .any(|is| is);
        assert!(!left, "one got away");
    }
}

#[tokio::test]
async fn what_a_program_started_ends_when_it_is_stopped() {
    let bench = Bench::new();
    let command = "setsid --fork sh -c 'echo $$ > \"$0\"; exec sleep 600' ../shared/pid; \
                   while ! test -s ../shared/pid; do :; done; touch ../shared/stop; sleep 600";
    let (_, ending) = bench.shell(command).await;
    assert_eq!(ending, Ending::Stopped);
    until_gone(&std::fs::read_to_string(bench.path("shared/pid")).unwrap()).await;
}

/// A process of the test's own, which has nothing to do with what is run.
struct Bystander(std::process::Child);

impl Bystander {
    fn new() -> Self {
        Self(std::process::Command::new("sleep").arg("600").spawn().unwrap())
    }

    /// All that others could have changed of it: its limits, and its priority with its scheduling.
    fn looks(&self) -> (String, Vec<String>) {
        let of = |file: &str| std::fs::read_to_string(format!("/proc/{}/{file}", self.0.id())).unwrap();
        let stat = of("stat");
        let stat: Vec<_> = stat.split_whitespace().collect();
        // Priority, niceness, real-time priority, policy.
        let scheduling = [17, 18, 39, 40].map(|at| (*stat.get(at).unwrap()).to_owned());
        let status = of("status");
        let cpus = status
            .lines()
            .find(|line| line.starts_with("Cpus_allowed:"))
            .unwrap();
        (
            of("limits"),
            scheduling.into_iter().chain([cpus.to_owned()]).collect(),
        )
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test]
async fn other_processes_are_out_of_reach_of_calls_that_name_them() {
    let bench = Bench::new();
    let bystander = Bystander::new();
    let (pid, before) = (bystander.0.id().to_string(), bystander.looks());
    for command in [
        "prlimit --nofile=20:20 --pid",
        "renice -n 5 -p",
        "ionice -c 3 -p",
        "chrt --batch -p 0",
        "taskset -p 1",
        "kill -9",
    ] {
        for process in [pid.as_str(), "$PPID"] {
            let (printed, ending) = bench.shell(&format!("{command} {process}")).await;
            assert!(
                !succeeded(ending) && printed.contains("not permitted"),
                "{command} {process}: {printed}"
            );
        }
    }
    // All of the user's.
    let (printed, ending) = bench.shell("renice -n 0 -u $(id -u)").await;
    assert!(
        !succeeded(ending) && printed.contains("not permitted"),
        "{printed}"
    );
    assert_eq!(bystander.looks(), before);
}

#[tokio::test]
async fn what_a_program_does_to_itself_is_its_own() {
    let bench = Bench::new();
    for command in [
        "prlimit --nofile=100:100 sh -c 'test $(ulimit -n) = 100'",
        "ulimit -n 50",
        "nice -n 3 true",
        "ionice -c 3 true",
        "taskset 1 true",
        "chrt --batch 0 true",
        "sleep 600 & kill $!; ! wait $!",
        "setsid --wait true",
    ] {
        let (printed, ending) = bench.shell(command).await;
        assert!(succeeded(ending), "{command}: {printed}");
    }
}

#[tokio::test]
async fn ways_into_the_kernel_are_closed() {
    /// `CLONE_NEWUSER`, and with the signal of a child.
    const USER: i64 = 0x1000_0000;
    const CHILD: i64 = USER | 17;
    let bench = Bench::new();
    // Without the filter none of them fails in this way, where the test is root's.
    let calls = [
        ("process_vm_readv", libc::SYS_process_vm_readv, 1, libc::EPERM),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, -1, libc::EPERM),
        ("kcmp", libc::SYS_kcmp, -1, libc::EPERM),
        ("unshare", libc::SYS_unshare, USER, libc::EPERM),
        ("setns", libc::SYS_setns, -1, libc::EPERM),
        ("clone", libc::SYS_clone, CHILD, libc::EPERM),
        ("clone3", libc::SYS_clone3, 0, libc::ENOSYS),
        ("chroot", libc::SYS_chroot, 0, libc::EPERM),
        ("bpf", libc::SYS_bpf, -1, libc::EPERM),
        ("keyctl", libc::SYS_keyctl, -1, libc::EPERM),
        ("io_uring_setup", libc::SYS_io_uring_setup, 0, libc::EPERM),
        ("perf_event_open", libc::SYS_perf_event_open, 0, libc::EPERM),
        ("kexec_load", libc::SYS_kexec_load, -1, libc::EPERM),
    ];
    for (name, number, first, expected) in calls {
        let script = format!("syscall({number}, {first}, 0, 0, 0, 0) == -1 or die; print $! + 0");
        let (printed, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", &script]).await;
        assert!(succeeded(ending), "{name}: {printed}");
        assert_eq!(printed, expected.to_string(), "{name}");
    }
}

impl Bench {
    /// One whose programs have a user of their own.
    fn of_user(user: u32) -> Self {
        let mut bench = Self::new();
        bench.bounds.user = NonZeroU32::new(user);
        for folder in ["", "module", "shared"] {
            std::fs::set_permissions(bench.path(folder), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        bench
    }
}

/// Whether a user of their own can be given; who is not root is told that.
async fn can_give_users() -> bool {
    if rustix::process::geteuid().is_root() {
        return true;
    }
    let (printed, ending) = Bench::of_user(61_000).shell("true").await;
    assert!(!succeeded(ending) && printed.contains("its user and its limits could not be set"));
    false
}

#[tokio::test]
async fn a_user_of_its_own_can_do_nothing_to_what_is_not_its_own() {
    if !can_give_users().await {
        return;
    }
    let bench = Bench::of_user(61_001);
    let (printed, ending) = bench
        .shell("id -u; id -g; id -G; exec grep -c '^Cap[IPE].*:.*[1-9a-f]' /proc/self/status")
        .await;
    assert!(!succeeded(ending));
    assert_eq!(printed, "61001\n61001\n61001\n0\n");
    // The private folder is its own, and so is what it puts there.
    let (printed, ending) = bench
        .shell("echo x > $TMPDIR/x && cat $TMPDIR/x file && touch $HOME/y")
        .await;
    assert!(succeeded(ending), "{printed}");
    assert_eq!(printed, "x\nof the module");
    // No rule of files speaks of these: the kernel asks whose they are.
    for command in [
        "chmod 000 ../shared",
        "touch -d 2001-01-01 ../shared",
        "chgrp 61001 ../shared",
    ] {
        let (printed, ending) = bench.shell(command).await;
        assert!(
            !succeeded(ending) && printed.contains("not permitted"),
            "{command}: {printed}"
        );
    }
    // It ends with all that it started, whoever they belong to.
    let (printed, ending) = bench
        .shell("setsid --fork sh -c 'echo $$; exec sleep 600'; sleep 0.1")
        .await;
    assert!(succeeded(ending));
    until_gone(&printed).await;
    assert_eq!(bench.folders.running(), 0, "nothing is left");
}

#[tokio::test]
async fn what_a_program_takes_is_bounded() {
    let mut bench = Bench::new();
    bench.bounds = Bounds {
        memory: Some(64 << 20),
        open_files: Some(64),
        file_size: Some(1 << 20),
        ..Bounds::default()
    };
    let (printed, _) = bench
        .shell("ulimit -d; ulimit -n; ulimit -f; ulimit -Hd; ulimit -Hn; ulimit -Hf")
        .await;
    assert_eq!(printed, "65536\n64\n2048\n65536\n64\n2048\n");
    let take = |mib: u32| format!("my $much = 'a' x ({mib} << 20); print length $much");
    let (printed, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", &take(8)]).await;
    assert!(succeeded(ending), "{printed}");
    let (printed, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", &take(200)]).await;
    assert!(
        !succeeded(ending) && printed.contains("Out of memory"),
        "{printed}"
    );
    let (printed, ending) = bench.shell("head -c 1000000 /dev/zero > $TMPDIR/x").await;
    assert!(succeeded(ending), "{printed}");
    let (printed, ending) = bench.shell("head -c 3000000 /dev/zero > $TMPDIR/x").await;
    assert!(!succeeded(ending), "{printed}");
    let open = "my @all; for (1 .. 100) { open(my $file, '<', '/dev/null') or die $!; push @all, $file }";
    let (printed, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", open]).await;
    assert!(
        !succeeded(ending) && printed.contains("Too many open files"),
        "{printed}"
    );
}

#[tokio::test]
async fn processes_of_a_user_are_counted() {
    if !can_give_users().await {
        return;
    }
    let mut bench = Bench::of_user(61_002);
    bench.bounds.processes = Some(10);
    let fork = "for (1 .. 30) { my $child = fork(); defined $child or die $!; $child or sleep 600 }";
    let (printed, ending) = bench.run(Path::new("/usr/bin/perl"), &["-e", fork]).await;
    assert!(
        !succeeded(ending) && printed.contains("temporarily unavailable"),
        "{printed}"
    );
}

#[tokio::test]
async fn how_a_program_ended_is_told() {
    use std::os::unix::process::ExitStatusExt;
    let bench = Bench::new();
    for signal in [6, 9, 11, 15] {
        let (printed, ending) = bench.shell(&format!("kill -{signal} $$")).await;
        assert!(
            matches!(ending, Ending::Exited(status) if status.signal() == Some(signal)),
            "{signal}: {ending:?} {printed}"
        );
    }
}
