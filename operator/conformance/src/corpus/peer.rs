//! The program that asks hcl.

use std::{
    io::{BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::judge::{Kind, Text};

/// A running peer; it ends when this is dropped.
pub(crate) struct Peer {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What hcl makes of a text.
#[derive(Deserialize)]
pub(crate) struct Answer {
    /// Each as summary, subject, context.
    pub(crate) diagnostics: Value,
    pub(crate) tree: Value,
    /// hcl itself went down.
    #[serde(default)]
    pub(crate) panic: String,
}

impl Peer {
    pub(crate) fn start(program: &Path) -> anyhow::Result<Self> {
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let requests = child.stdin.take();
        let answers = child.stdout.take().context("the peer has no output")?;
        Ok(Self {
            child,
            requests,
            answers: BufReader::new(answers),
        })
    }

    /// What hcl makes of the text; `None` if the tree is too deep to be taken in.
    pub(crate) fn ask(&mut self, text: &Text) -> anyhow::Result<Option<Answer>> {
        let kind = match text.kind {
            Kind::Native => b'n',
            Kind::Json => b'j',
            Kind::Expression => b'e',
            Kind::Template => b't',
            Kind::Path => b'p',
        };
        let length = u32::try_from(text.text.len())?;
        let mut request = vec![kind];
        request.extend(length.to_be_bytes());
        request.extend(text.text.as_bytes());
        let requests = self.requests.as_mut().context("the peer has no input")?;
        requests.write_all(&request).context("asking the peer")?;
        let mut head = [0; 4];
        self.answers.read_exact(&mut head).context("hearing the peer")?;
        let mut answer = vec![0; u32::from_be_bytes(head) as usize];
        self.answers.read_exact(&mut answer).context("hearing the peer")?;
        match serde_json::from_slice(&answer) {
            Err(error) if error.to_string().starts_with("recursion limit") => Ok(None),
            answer => answer.map(Some).context("the peer's answer"),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // Its input ends, so it does.
        self.requests = None;
        let _ = self.child.wait();
    }
}
