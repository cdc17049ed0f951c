//! Repositories made by the real git, and the real git as their server over HTTP (as a CGI program).

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::server::{Answer, Asked, Server, answer};

/// A repository that is worked in.
pub(crate) struct Work {
    pub(crate) folder: PathBuf,
}

impl Work {
    pub(crate) fn new(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        let work = Self { folder };
        work.git(&["init", "--quiet", "--initial-branch=main"]);
        work.git(&["config", "uploadpack.allowAnySHA1InWant", "false"]);
        work
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=x",
                "-c",
                "user.email=x@x.test",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .current_dir(&self.folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git {arguments:?}: {told}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Commits all; gives the commit.
    pub(crate) fn commit(&self) -> String {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "x"]);
        self.git(&["rev-parse", "HEAD"])
    }
}

/// Serves the repositories in a folder; with an account that is wanted, if any.
pub(crate) async fn serve(root: &Path, account: Option<&'static str>) -> Server {
    let root = root.to_owned();
    Server::start(move |asked| {
        if let Some(account) = account {
            use base64::Engine;
            let want = format!(
                "Basic {}",
                base64::engine::general_purpose::STANDARD.encode(account)
            );
            if asked.header("authorization") != Some(&want) {
                return crate::server::with(answer(401, "who?"), "www-authenticate", "Basic realm=\"x\"");
            }
        }
        http_backend(&root, asked)
    })
    .await
}

/// `git http-backend`.
pub(crate) fn http_backend(root: &Path, asked: &Asked) -> Answer {
    let mut child = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("PATH_INFO", &asked.path)
        .env("QUERY_STRING", &asked.query)
        .env("REQUEST_METHOD", &asked.method)
        .env("CONTENT_TYPE", asked.header("content-type").unwrap_or_default())
        .env("GIT_PROTOCOL", asked.header("git-protocol").unwrap_or_default())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&asked.body).unwrap();
    let output = child.wait_with_output().unwrap().stdout;
    let end = output.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
    let (head, body) = output.split_at(end);
    let mut status = 200;
    let mut headers = Vec::new();
    for line in std::str::from_utf8(head).unwrap().lines() {
        let (name, value) = line.split_once(": ").unwrap();
        match name {
            "Status" => status = value[..3].parse().unwrap(),
            _ => headers.push((name.to_owned(), value.to_owned())),
        }
    }
    let mut answer = answer(status, body[4..].to_vec());
    for (name, value) in headers {
        let name = http::HeaderName::from_bytes(name.as_bytes()).unwrap();
        answer.headers_mut().insert(name, value.parse().unwrap());
    }
    answer
}
