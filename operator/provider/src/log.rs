//! What plugins print, into our log: one event a line, at the level the plugin gave it, every text through the redactor.
//!
//! Plugins write hclog JSON or plain text on standard error. A line is never trusted to be short or to be text.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Takes out of a text what must not be shown (the values of sensitive variables, tokens).
pub type Redactor = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Longest line kept whole; longer ones are logged in pieces.
const LINE_LIMIT: u64 = 64 << 10;
/// Plain lines remembered, to tell of a crash: the head of a Go panic.
const TAIL_LINES: usize = 12;
/// Longest remembered line.
const TAIL_WIDTH: usize = 300;

/// The log of one plugin process.
#[derive(Clone)]
pub(crate) struct PluginLog {
    name: Arc<str>,
    redact: Redactor,
    panic: Arc<Mutex<VecDeque<String>>>,
}

impl PluginLog {
    pub(crate) fn new(name: Arc<str>, redact: Redactor) -> Self {
        Self {
            name,
            redact,
            panic: Arc::default(),
        }
    }

    /// Logs what comes from `stream` until it ends.
    pub(crate) async fn follow(self, stream: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut reader).take(LINE_LIMIT).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => self.line(&String::from_utf8_lossy(&line)),
            }
        }
    }

    /// Logs one line.
    pub(crate) fn line(&self, line: &str) {
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        match structured(line) {
            Some(entry) => self.event(&entry),
            None => {
                let line = (self.redact)(line);
                self.remember(&line);
                tracing::debug!(target: "ashlar::plugin", provider = %self.name, "{line}");
            }
        }
    }

    fn event(&self, entry: &Map<String, Value>) {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
        let message = (self.redact)(text("@message"));
        let mut fields = String::new();
        for (key, value) in entry.iter().filter(|(key, _)| !key.starts_with('@')) {
            let value = match value {
                Value::String(value) => (self.redact)(value),
                other => (self.redact)(&other.to_string()),
            };
            fields.push_str(&format!(" {key}={value:?}"));
        }
        let (provider, module) = (&self.name, text("@module"));
        match text("@level") {
            "error" => tracing::error!(target: "ashlar::plugin", %provider, module, "{message}{fields}"),
            "warn" => tracing::warn!(target: "ashlar::plugin", %provider, module, "{message}{fields}"),
            "info" => tracing::info!(target: "ashlar::plugin", %provider, module, "{message}{fields}"),
            "trace" => tracing::trace!(target: "ashlar::plugin", %provider, module, "{message}{fields}"),
            _ => tracing::debug!(target: "ashlar::plugin", %provider, module, "{message}{fields}"),
        }
    }

    /// Keeps the first lines from the last `panic:` or `fatal error:` on.
    fn remember(&self, line: &str) {
        let mut kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        if line.starts_with("panic:") || line.starts_with("fatal error:") {
            kept.clear();
        } else if kept.is_empty() || kept.len() >= TAIL_LINES {
            return;
        }
        kept.push_back(line.chars().take(TAIL_WIDTH).collect());
    }

    /// The head of a crash report, if the plugin printed one; redacted.
    pub(crate) fn panic(&self) -> Option<String> {
        let kept = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
        (!kept.is_empty()).then(|| kept.iter().cloned().collect::<Vec<_>>().join("\n"))
    }
}

/// An hclog entry.
fn structured(line: &str) -> Option<Map<String, Value>> {
    if !line.starts_with('{') {
        return None;
    }
    match serde_json::from_str(line) {
        Ok(Value::Object(entry)) if entry.contains_key("@message") => Some(entry),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> PluginLog {
        PluginLog::new("test".into(), Arc::new(|text| text.replace("secret", "***")))
    }

    #[test]
    fn a_panic_is_kept_redacted_and_bounded() {
        let log = log();
        log.line("some text");
        assert_eq!(log.panic(), None);
        log.line("panic: secret [recovered]\n");
        log.line(r#"{"@level":"error","@message":"not kept"}"#);
        for at in 0..100 {
            log.line(&format!("goroutine {at} {}", "x".repeat(1000)));
        }
        let panic = log.panic().unwrap();
        assert!(
            panic.starts_with("panic: *** [recovered]\ngoroutine 0 x"),
            "{panic}"
        );
        assert_eq!(panic.lines().count(), TAIL_LINES);
        assert!(panic.len() < TAIL_LINES * (TAIL_WIDTH + 1));
    }

    #[test]
    fn entries() {
        assert!(structured(r#"{"@level":"info","@message":"m","a":1}"#).is_some());
        for plain in ["{", "{}", "[1]", "text", r#"{"message":"m"}"#] {
            assert!(structured(plain).is_none(), "{plain}");
        }
    }
}
