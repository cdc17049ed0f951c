//! `remote-exec` and `file`: scripts and files on a machine that is reached over SSH.
//!
//! Source: Terraform `builtin/provisioners/{remote-exec,file}`, `communicator/ssh/communicator.go`.

use std::path::Path;

use ashlar_funcs::{CapsError, FileKind};
use ashlar_port::ProvisionRequest;
use ashlar_value::Value;
use tokio::time::timeout;

use crate::{
    Runner,
    argument::{all_texts, text},
    connection::Connection,
    output::Output,
    scp::{Scp, quoted},
    session::{PATIENCE, Session, silent},
};

/// So deep may a folder that is sent be.
const DEEPEST: usize = 64;

impl Runner {
    /// Runs scripts one after the other, each put on the machine for it.
    pub(crate) async fn remote_exec(&self, request: &ProvisionRequest<'_>) -> Result<(), String> {
        let connection = Connection::read(request.connection)?;
        let scripts = self.scripts(request.config)?;
        let redact = &self.launch.redact;
        let tell = |line: &str| (request.hearer)(&redact(line));
        self.announce(&connection, &tell);
        let session = Session::open(&connection, &self.rules).await?;
        tell("Connected!");
        for script in scripts {
            let number = format!("{}", self.caps.random().map_or(0, number));
            let path = connection.script_path.replace("%RAND%", &number);
            send(&session, &path, &with_shebang(&script))
                .await
                .map_err(|why| format!("The script could not be put at {path}: {why}."))?;
            let mut told = Output::new(|text| redact(text), |_| {});
            let allow = format!("chmod 0777 {}", quoted(&path));
            let allowed = timeout(PATIENCE, session.run(&allow, |bytes| told.take(bytes))).await;
            allowed.unwrap_or_else(|_| Err(silent())).map_err(|why| {
                let said = told.finish();
                format!("The script at {path} could not be made one to be run: {why}. {said}")
            })?;
            let mut output = Output::new(|text| redact(text), request.hearer);
            let ending = session.run(&quoted(&path), |bytes| output.take(bytes)).await;
            output.finish();
            // It may hold secrets. Where it cannot be emptied it stays.
            let _ = send(&session, &path, b"").await;
            ending.map_err(|why| format!("The script at {path} failed: {why}."))?;
        }
        Ok(())
    }

    /// Sends a file or a folder.
    pub(crate) async fn file(&self, request: &ProvisionRequest<'_>) -> Result<(), String> {
        let connection = Connection::read(request.connection)?;
        let destination = text(request.config, "destination").unwrap_or_default();
        let content = text(request.config, "content");
        let source = text(request.config, "source");
        if let Some(content) = content {
            let session = Session::open(&connection, &self.rules).await?;
            return failed(
                send(&session, &destination, content.as_bytes()).await,
                &destination,
            );
        }
        let source = self.at_home(&source.ok_or("Either source or content must be set.")?);
        let unread = |error: CapsError| unread(&source, &error);
        if self.caps.file_kind(&source).map_err(unread)? != FileKind::Directory {
            let content = self.caps.read_file(&source).map_err(unread)?;
            let session = Session::open(&connection, &self.rules).await?;
            return failed(send(&session, &destination, &content).await, &destination);
        }
        let session = Session::open(&connection, &self.rules).await?;
        failed(
            self.send_folder(&session, &source, &destination).await,
            &destination,
        )
    }

    /// A folder goes into the destination by its name; only what is in it if its path ends with a slash.
    async fn send_folder(&self, session: &Session, source: &str, destination: &str) -> Result<(), String> {
        let mut scp = Scp::start(session, destination, true).await?;
        let name = Path::new(source).file_name().and_then(|name| name.to_str());
        let entered = name.filter(|_| !source.ends_with('/'));
        if let Some(name) = entered {
            scp.enter(name).await?;
        }
        self.send_inner(&mut scp, source, 0).await?;
        if entered.is_some() {
            scp.leave().await?;
        }
        scp.finish().await
    }

    async fn send_inner(&self, scp: &mut Scp, folder: &str, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!(
                "folders in {folder:?} lie too deep, or in a circle of links"
            ));
        }
        let mut entries = self
            .caps
            .list_dir(folder)
            .map_err(|error| unread(folder, &error))?;
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (name, kind) in entries {
            let path = format!("{}/{name}", folder.trim_end_matches('/'));
            if kind == FileKind::Directory {
                scp.enter(&name).await?;
                Box::pin(self.send_inner(scp, &path, depth + 1)).await?;
                scp.leave().await?;
            } else {
                let content = self
                    .caps
                    .read_file(&path)
                    .map_err(|error| unread(&path, &error))?;
                scp.file(&name, &content).await?;
            }
        }
        Ok(())
    }

    fn scripts(&self, config: &Value) -> Result<Vec<Vec<u8>>, String> {
        let is_set = |name| config.attr(name).is_some_and(|value| !value.is_null());
        if is_set("inline") {
            let mut lines = all_texts(config, "inline")?;
            lines.push(String::new());
            return Ok(vec![lines.join("\n").into_bytes()]);
        }
        let mut paths: Vec<String> = text(config, "script").into_iter().collect();
        if paths.iter().any(String::is_empty) {
            return Err("The path in script must not be empty.".to_owned());
        }
        paths.extend(all_texts(config, "scripts")?);
        let read = |path: String| self.caps.read_file(&path).map_err(|error| unread(&path, &error));
        paths.into_iter().map(read).collect()
    }

    fn at_home(&self, path: &str) -> String {
        match (path.strip_prefix("~/"), self.caps.home()) {
            (Some(rest), Ok(home)) => format!("{home}/{rest}"),
            _ => path.to_owned(),
        }
    }

    fn announce(&self, connection: &Connection, tell: &dyn Fn(&str)) {
        let target = &connection.target;
        tell("Connecting to remote host via SSH...");
        tell(&format!("  Host: {}", target.host));
        tell(&format!("  User: {}", target.user));
        tell(&format!("  Password: {}", target.password.is_some()));
        tell(&format!("  Private key: {}", target.private_key.is_some()));
        tell(&format!("  Certificate: {}", target.certificate.is_some()));
        let agent = connection.agent.unwrap_or(self.rules.agent.is_some());
        tell(&format!("  SSH Agent: {agent}"));
        tell(&format!("  Checking Host Key: {}", target.host_key.is_some()));
        if let Some(bastion) = &connection.bastion {
            tell(&format!("Using configured bastion host {bastion}"));
        }
    }
}

/// Sends a file by the path that it is to have.
async fn send(session: &Session, path: &str, content: &[u8]) -> Result<(), String> {
    let (folder, name) = match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some((folder, name)) => (folder, name),
        None => (".", path),
    };
    let mut scp = Scp::start(session, folder, false).await?;
    scp.file(name, content).await?;
    scp.finish().await
}

fn failed(result: Result<(), String>, destination: &str) -> Result<(), String> {
    result.map_err(|why| format!("It could not be sent to {destination}: {why}."))
}

fn unread(path: &str, error: &CapsError) -> String {
    format!("{path:?} cannot be read: {error}.")
}

/// A script says itself what runs it; if it does not, a shell does.
fn with_shebang(script: &[u8]) -> Vec<u8> {
    if script.starts_with(b"#!") {
        return script.to_vec();
    }
    [b"#!/bin/sh\n", script].concat()
}

fn number(random: [u8; 16]) -> u32 {
    let [a, b, c, d, ..] = random;
    u32::from_be_bytes([a, b, c, d]) >> 1
}
