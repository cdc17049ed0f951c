//! The last step before a plugin runs: our own binary fences itself in, then becomes the plugin.
//!
//! Runs as `ashlar launch …` in a process of its own, single-threaded, and must not return when all goes well. With a
//! fence the plugin sees the system's libraries and certificates, its own binary and what it was given, and can write
//! only to its private folder; the operator's token and other workspaces' folders are out of its sight. The fence is
//! Landlock, which the kernel may lack, and a filter of what is asked of the kernel (`filter`), for what Landlock does not judge.
//! Unix and TCP connections stay free: a provider's work is to reach its API.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::unix::{ffi::OsStrExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
};

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::process::{Pid, Resource, Rlimit, Signal};

use crate::{
    bounds::Bounds,
    filter::{self, FilterError},
    supervise,
};

/// Stands before the names of variables that whoever writes a configuration or a workspace chose. Only the program gets
/// them, once it is fenced in: some (`LD_PRELOAD`) would be obeyed here, before there is a fence.
const FOR_PROGRAM: &str = "ASHLAR_FOR_PROGRAM_";

/// The name under which a variable for the program is handed to the launch.
pub(crate) fn for_program(name: &OsStr) -> OsString {
    let mut whole = OsString::from(FOR_PROGRAM);
    whole.push(name);
    whole
}

/// How a plugin is kept to its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fence {
    /// Not at all: the user's rights, as Terraform runs plugins.
    Off,
    /// As far as the kernel can.
    #[default]
    BestEffort,
    /// With the file rules of Linux 5.13 at least, or the plugin does not start.
    Required,
}

/// Why the plugin did not start. It is printed to the plugin's standard error, which the operator reads.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The command line is wrong.
    #[error("ashlar launch: {0}")]
    Usage(&'static str),
    /// Whoever started us is gone already.
    #[error("the process that started this plugin has ended")]
    Orphan,
    /// The kernel refused a limit.
    #[error("a limit could not be set")]
    Limit(#[source] io::Error),
    /// It could not be made another user's, or held to what it may take.
    #[error("its user and its limits could not be set")]
    Bounds(#[source] io::Error),
    /// The fence could not be built.
    #[error("the fence could not be built")]
    Fence(#[source] RulesetError),
    /// What is asked of the kernel could not be filtered.
    #[error("calls to the kernel could not be filtered")]
    Filter(#[source] FilterError),
    /// The fence is demanded but the kernel has no Landlock.
    #[error("a fence is demanded, but this kernel has no Landlock")]
    NoLandlock,
    /// The binary cannot be run.
    #[error("{} cannot be run", .0.display())]
    Exec(PathBuf, #[source] io::Error),
}

/// What a launch is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) fence: Fence,
    /// What it is held to.
    pub(crate) bounds: Bounds,
    /// The process to die with.
    pub(crate) parent: u32,
    pub(crate) read: Vec<PathBuf>,
    pub(crate) write: Vec<PathBuf>,
    pub(crate) binary: PathBuf,
    /// What it is told.
    pub(crate) arguments: Vec<OsString>,
    /// Is the binary named by a configuration? Then its folder may hold anything, and is not opened to it.
    pub(crate) is_foreign: bool,
    /// Does a process of ours stand between us and the program, that ends all that the program starts?
    pub(crate) is_supervised: bool,
}

impl Request {
    /// The arguments after `launch`; [`run`] reads them.
    pub(crate) fn arguments(&self) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = Vec::new();
        match self.fence {
            Fence::Off => arguments.push("--no-fence".into()),
            Fence::BestEffort => {}
            Fence::Required => arguments.push("--require-fence".into()),
        }
        arguments.extend(["--parent".into(), self.parent.to_string().into()]);
        arguments.extend(self.bounds.arguments());
        for (flag, paths) in [("--read", &self.read), ("--write", &self.write)] {
            for path in paths {
                arguments.extend([flag.into(), path.into()]);
            }
        }
        if self.is_foreign {
            arguments.push("--foreign".into());
        }
        if self.is_supervised {
            arguments.push("--supervise".into());
        }
        arguments.extend(["--".into(), self.binary.clone().into()]);
        arguments.extend(self.arguments.iter().cloned());
        arguments
    }

    fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Self, LaunchError> {
        let mut request = Self::default();
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || {
                arguments
                    .next()
                    .ok_or(LaunchError::Usage("a flag lacks its value"))
            };
            match argument.to_str() {
                Some("--no-fence") => request.fence = Fence::Off,
                Some("--require-fence") => request.fence = Fence::Required,
                Some("--foreign") => request.is_foreign = true,
                Some("--supervise") => request.is_supervised = true,
                Some("--read") => request.read.push(value()?.into()),
                Some("--write") => request.write.push(value()?.into()),
                Some("--parent") => {
                    let parent = value()?.to_str().and_then(|pid| pid.parse().ok());
                    request.parent = parent.ok_or(LaunchError::Usage("--parent wants a process id"))?;
                }
                Some(flag) if Bounds::knows(flag) => {
                    let value = value()?;
                    let taken = value.to_str().and_then(|value| request.bounds.take(flag, value));
                    taken.ok_or(LaunchError::Usage("a bound has a value that it cannot have"))?;
                }
                Some("--") => {
                    request.binary = value()?.into();
                    request.arguments = arguments.collect();
                    return Ok(request);
                }
                _ => return Err(LaunchError::Usage("unknown flag")),
            }
        }
        Err(LaunchError::Usage("no binary is given"))
    }
}

/// Fences this process in as told and becomes the plugin; returns only when that failed. `arguments` are those after
/// `launch`. The environment, the standard streams and the working folder are passed on as they are.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> LaunchError {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let before = std::env::args_os().count().saturating_sub(arguments.len());
    let request = match Request::parse(arguments) {
        Ok(request) => request,
        Err(error) => return error,
    };
    if request.is_supervised {
        let before = std::env::args_os().take(before).skip(1).collect();
        return supervise::run(request, before);
    }
    if let Err(error) = prepare(&request) {
        return error;
    }
    let mut command = Command::new(&request.binary);
    command.args(&request.arguments);
    for (name, value) in std::env::vars_os() {
        if let Some(own) = name.as_bytes().strip_prefix(FOR_PROGRAM.as_bytes()) {
            command.env(OsStr::from_bytes(own), value).env_remove(&name);
        }
    }
    let error = command.exec();
    LaunchError::Exec(request.binary, error)
}

/// A core dump would hold credentials.
pub(crate) const NO_CORE: Rlimit = Rlimit {
    current: Some(0),
    maximum: Some(0),
};

fn prepare(request: &Request) -> Result<(), LaunchError> {
    let limit = |error: rustix::io::Errno| LaunchError::Limit(error.into());
    // Before the next: with another user the kernel forgets whose death ends this process.
    request.bounds.apply().map_err(LaunchError::Bounds)?;
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL)).map_err(limit)?;
    // The parent may have died before the kernel was asked to watch it.
    let parent = Pid::as_raw(rustix::process::getppid());
    if u32::try_from(parent) != Ok(request.parent) {
        return Err(LaunchError::Orphan);
    }
    if request.fence == Fence::Off {
        return Ok(());
    }
    rustix::process::setrlimit(Resource::Core, NO_CORE).map_err(limit)?;
    let status = build_fence(request).map_err(LaunchError::Fence)?;
    match (status, request.fence) {
        (RulesetStatus::NotEnforced, Fence::Required) => return Err(LaunchError::NoLandlock),
        (RulesetStatus::NotEnforced, _) => {
            warn("this kernel has no Landlock: the plugin runs without a fence")
        }
        _ => {}
    }
    // The last, or it would have to let all the above pass.
    match (filter::apply(), request.fence) {
        (Ok(()), _) => Ok(()),
        (Err(error), Fence::Required) => Err(LaunchError::Filter(error)),
        (Err(_), _) => {
            warn("this kernel filters no calls: the plugin can do to other processes what its user can");
            Ok(())
        }
    }
}

/// The operator turns each line of a plugin's standard error into a log entry.
fn warn(message: &str) {
    let _ = writeln!(io::stderr(), r#"{{"@level":"warn","@message":"{message}"}}"#);
}

/// What any program needs to run and to reach a network. Paths that do not exist are passed over.
const SYSTEM: [&str; 32] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr",
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/pki",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl",
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/self",
    "/proc/stat",
    "/proc/sys",
    "/sys",
    "/dev/urandom",
];
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/full"];

/// The oldest rules that keep a plugin from reading and writing what is not its own.
const NEEDED: ABI = ABI::V1;
/// The newest rules we know; older kernels get what they can hold.
const RULES: ABI = ABI::V6;

fn build_fence(request: &Request) -> Result<RulesetStatus, RulesetError> {
    let level = match request.fence {
        Fence::Required => CompatLevel::HardRequirement,
        Fence::Off | Fence::BestEffort => CompatLevel::BestEffort,
    };
    // Newer rules (devices' ioctl, signals and abstract sockets to the outside) are never a reason not to start.
    let fence = Ruleset::default()
        .set_compatibility(level)
        .handle_access(AccessFs::from_all(NEEDED))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))?
        // Else it could end who supervises it, and outlive the run.
        .set_compatibility(if request.is_foreign {
            level
        } else {
            CompatLevel::BestEffort
        })
        .scope(Scope::from_all(RULES))?
        .create()?;
    let read = AccessFs::from_read(RULES);
    let system = SYSTEM
        .iter()
        .map(Path::new)
        .chain(request.read.iter().map(PathBuf::as_path));
    let fence = allow(fence, system, read)?;
    let own = if request.is_foreign {
        Vec::new()
    } else {
        packages(&request.binary)
    };
    let fence = allow(fence, own.iter().map(PathBuf::as_path), read)?;
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let fence = allow(fence, DEVICES.iter().map(Path::new), device)?;
    let fence = allow(
        fence,
        request.write.iter().map(PathBuf::as_path),
        AccessFs::from_all(RULES),
    )?;
    Ok(fence.restrict_self()?.ruleset)
}

/// The folder of a plugin, and that of the program itself where mirrors are laid with links. Nobody but the operator's owner lays links:
/// no package that is unpacked may hold one.
fn packages(binary: &Path) -> Vec<PathBuf> {
    let real = binary.canonicalize().ok();
    let binaries = std::iter::once(binary).chain(real.as_deref());
    // The whole package, but never the whole system because the binary lies at its root.
    let opened = binaries.map(|binary| match binary.parent() {
        Some(folder) if folder.parent().is_some() => folder.to_owned(),
        _ => binary.to_owned(),
    });
    opened.collect()
}

fn allow<'a>(
    fence: RulesetCreated,
    paths: impl Iterator<Item = &'a Path>,
    access: landlock::BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    paths.into_iter().try_fold(fence, |fence, path| {
        let Ok(file) = PathFd::new(path) else {
            return Ok(fence);
        };
        // The kernel refuses folder rights on what is no folder.
        let access = if path.is_dir() {
            access
        } else {
            access & AccessFs::from_file(RULES)
        };
        fence.add_rule(PathBeneath::new(file, access))
    })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    fn check(arguments: &[&str], expected: Result<Request, &str>) {
        let got = Request::parse(arguments.iter().map(OsString::from));
        assert_eq!(
            got.map_err(|error| error.to_string()),
            expected.map_err(|error| format!("ashlar launch: {error}"))
        );
    }

    #[test]
    fn arguments() {
        let request = Request {
            fence: Fence::Required,
            bounds: Bounds {
                user: NonZeroU32::new(5),
                memory: Some(1 << 40),
                open_files: Some(9),
                file_size: Some(1),
                processes: Some(3),
            },
            parent: 7,
            read: vec!["/a".into(), "/b".into()],
            write: vec!["/w".into()],
            binary: "/x/terraform-provider-y".into(),
            ..Request::default()
        };
        assert_eq!(Request::parse(request.arguments()).unwrap(), request);
        let foreign = Request {
            binary: "/bin/sh".into(),
            arguments: vec!["-c".into(), "--read".into(), "--".into()],
            is_foreign: true,
            is_supervised: true,
            ..request
        };
        assert_eq!(Request::parse(foreign.arguments()).unwrap(), foreign);
        check(
            &["--no-fence", "--parent", "3", "--", "/x"],
            Ok(Request {
                fence: Fence::Off,
                parent: 3,
                binary: "/x".into(),
                ..Request::default()
            }),
        );
        for user in ["0", "4294967295", "4294967296", "root"] {
            let told = ["--user", user, "--", "/x"];
            check(&told, Err("a bound has a value that it cannot have"));
        }
        check(&[], Err("no binary is given"));
        check(&["--parent", "x", "--", "/x"], Err("--parent wants a process id"));
        check(&["--read"], Err("a flag lacks its value"));
        check(&["/x"], Err("unknown flag"));
    }
}
