//! Git by the `git` of this machine, for a person's own commands: their agent, SSH configuration and credential helpers do
//! what they do for Terraform, which runs it, too.

use std::{
    io::{Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use gix_hash::ObjectId;
use tempfile::NamedTempFile;

use crate::{
    address::{Address, encode},
    fault::Fault,
    git::refs::{Ref, Refs},
    limits::Limits,
    tree::too_slow,
};

/// Most bytes of a list of references, and of a complaint.
const LARGEST_LIST: u64 = 64 << 20;

/// A repository, fetched from by `git`.
pub(crate) struct Program<'a> {
    address: &'a Address,
    deadline: Instant,
    limits: &'a Limits,
    /// The private key that the source itself brings (`sshkey`); else SSH finds its own.
    key: Option<NamedTempFile>,
}

impl<'a> Program<'a> {
    pub(crate) fn new(
        address: &'a Address,
        identity: Option<&str>,
        deadline: Instant,
        limits: &'a Limits,
    ) -> Result<Self, Fault> {
        let unkept = |error| Fault::local("A private key cannot be kept for SSH", &error);
        let key = identity.map(|identity| {
            // Made for nobody else to read.
            let mut file = NamedTempFile::new()?;
            file.write_all(identity.as_bytes())?;
            Ok(file)
        });
        Ok(Self {
            address,
            deadline,
            limits,
            key: key.transpose().map_err(unkept)?,
        })
    }

    /// What a repository has. By names, as `git ls-remote` finds them.
    pub(crate) fn refs(&self, prefixes: &[String]) -> Result<Refs, Fault> {
        let mut git = self.git();
        git.args(["ls-remote", "--"]).arg(self.address.with_account());
        // A pattern without a star is the end of a name; so is one that begins with a slash from the whole of it.
        for prefix in prefixes {
            if prefix.ends_with('/') {
                git.arg(format!("{prefix}*"));
            } else {
                git.arg(prefix).arg(format!("{prefix}^{{}}"));
            }
        }
        let output = self.run(git)?;
        let mut refs = Vec::<Ref>::new();
        for line in String::from_utf8_lossy(&output).lines() {
            let Some((id, name)) = line.split_once('\t') else {
                continue;
            };
            let Ok(id) = ObjectId::from_hex(id.as_bytes()) else {
                continue;
            };
            match name.strip_suffix("^{}") {
                Some(name) => {
                    if let Some(tag) = refs.iter_mut().find(|one| one.name == name) {
                        tag.peeled = Some(id);
                    }
                }
                None => refs.push(Ref {
                    name: name.to_owned(),
                    id,
                    peeled: None,
                }),
            }
        }
        Ok(Refs(refs))
    }

    /// Fetches objects by name of commit or pattern of references into a new repository in the folder.
    pub(crate) fn fetch(
        &self,
        wanted: &[String],
        shallow: bool,
        folder: &Path,
    ) -> Result<Vec<gix_pack::Bundle>, Fault> {
        let address = self.address;
        let repository = folder.join("repository");
        let mut init = self.git();
        init.args(["init", "--quiet", "--bare", "--object-format=sha1", "--"])
            .arg(&repository);
        self.run(init)?;
        let mut fetch = self.git();
        fetch.arg("-C").arg(&repository);
        // All objects come in one pack, which is not taken apart.
        fetch.args([
            "-c",
            "fetch.unpackLimit=1",
            "-c",
            "transfer.unpackLimit=1",
            "-c",
            "gc.auto=0",
        ]);
        fetch.args([
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
        ]);
        if shallow {
            fetch.arg("--depth=1");
        }
        fetch.arg("--").arg(self.address.with_account());
        for (at, one) in wanted.iter().enumerate() {
            let target = if one.ends_with('*') {
                format!("refs/all/{at}/*")
            } else {
                format!("refs/one/{at}")
            };
            fetch.arg(format!("{one}:{target}"));
        }
        self.run(fetch)?;
        let mut bundles = Vec::new();
        let packs = repository.join("objects/pack");
        let unreadable =
            |why: String| Fault::refused(format!("What git fetched from {address} cannot be read: {why}."));
        for entry in std::fs::read_dir(&packs).map_err(|error| unreadable(error.to_string()))? {
            let path = entry.map_err(|error| unreadable(error.to_string()))?.path();
            if path.extension().is_some_and(|extension| extension == "idx") {
                let bundle = gix_pack::Bundle::at(&path, gix_hash::Kind::Sha1);
                bundles.push(bundle.map_err(|error| unreadable(error.to_string()))?);
            }
        }
        Ok(bundles)
    }

    fn git(&self) -> Command {
        let mut git = Command::new("git");
        if let Some(key) = &self.key {
            let path = key.path().display();
            git.env(
                "GIT_SSH_COMMAND",
                format!("ssh -i '{path}' -o IdentitiesOnly=yes"),
            );
        }
        // A helper program named by a configuration in the source (`ext::`) would be run.
        git.env("GIT_ALLOW_PROTOCOL", "file:http:https:ssh");
        for name in [
            "GIT_DIR",
            "GIT_WORK_TREE",
            "GIT_INDEX_FILE",
            "GIT_OBJECT_DIRECTORY",
        ] {
            git.env_remove(name);
        }
        git.stdout(Stdio::piped()).stderr(Stdio::piped());
        git
    }

    fn run(&self, mut git: Command) -> Result<Vec<u8>, Fault> {
        let (address, deadline) = (self.address, self.deadline);
        let mut child = git.spawn().map_err(|error| {
            Fault::local(
                &format!("{address} is fetched by `git`, as Terraform does it, and that cannot be started"),
                &error,
            )
        })?;
        let errors = child
            .stderr
            .take()
            .map(|errors| std::thread::spawn(move || read(errors)));
        let output = child
            .stdout
            .take()
            .map(|output| std::thread::spawn(move || read(output)));
        let ended = wait(&mut child, deadline);
        if ended.is_none() {
            let _ = child.kill();
            let _ = child.wait();
        }
        let gathered = |thread: Option<std::thread::JoinHandle<Vec<u8>>>| {
            thread.and_then(|thread| thread.join().ok()).unwrap_or_default()
        };
        let (output, errors) = (gathered(output), gathered(errors));
        match ended {
            None => Err(too_slow(self.limits)),
            Some(true) => Ok(output),
            Some(false) => Err(complaint(address, &String::from_utf8_lossy(&errors))),
        }
    }
}

/// Has it ended well? None: not in time.
fn wait(child: &mut Child, deadline: Instant) -> Option<bool> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status.success()),
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            Ok(None) => return None,
            Err(_) => return Some(false),
        }
    }
}

fn read(from: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What came until it broke off is all there is.
    let _ = from.take(LARGEST_LIST).read_to_end(&mut bytes);
    bytes
}

/// What git says, without the account that it repeats.
fn complaint(address: &Address, words: &str) -> Fault {
    let mut words = words
        .trim()
        .replace(&address.with_account(), &address.to_string());
    let lower = words.to_lowercase();
    // Where there is no password, the user may be a token. Git repeats it as it was written, or as it was meant.
    let user = address.user.as_deref().filter(|_| address.scheme != "ssh");
    if let Some(secret) = address.password.as_deref().or(user) {
        words = words.replace(&encode(secret), "***").replace(secret, "***");
    }
    let text = format!("{address} cannot be fetched. Git says: {words}");
    let any = |parts: &[&str]| parts.iter().any(|part| lower.contains(part));
    if any(&[
        "authentication failed",
        "permission denied",
        "could not read username",
        "host key verification",
    ]) {
        Fault::denied(text)
    } else if any(&[
        "not found",
        "does not exist",
        "does not appear to be a git repository",
        "couldn't find remote ref",
        "not our ref",
    ]) {
        Fault::absent(text)
    } else {
        Fault::unreachable(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FaultKind;

    #[test]
    fn an_account_is_not_repeated() {
        for account in ["t0%40ken", "me:t0%40ken"] {
            let address = Address::parse(&format!("https://{account}@h.test/r")).unwrap();
            let words = "fatal: Authentication failed for 'https://t0%40ken@h.test/r' (t0@ken)";
            let fault = complaint(&address, words);
            assert_eq!(fault.kind, FaultKind::Denied);
            assert!(!fault.text.contains("ken"), "{fault}");
        }
    }
}
