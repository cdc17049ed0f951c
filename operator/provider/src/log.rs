//! What plugins print, into our log: one event a line, at the level the plugin gave it, every text through the redactor.
//!
//! Plugins write hclog JSON or plain text on standard error. A line is never trusted to be short or to be text, nor a
//! plugin to stop: of one that floods, most is left out, and how much is told.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use serde_json::{Map, Value};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// Takes out of a text what must not be shown (the values of sensitive variables, tokens).
pub type Redactor = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Longest line kept whole; longer ones are logged in pieces.
const LINE_LIMIT: usize = 64 << 10;
/// So many bytes may come at once, and so many a second from then on; the rest is left out. A provider that traces its
/// requests stays far below.
const BURST: u64 = 16 << 20;
const PER_SECOND: u64 = 1 << 20;
/// What a line costs beside its bytes.
const LINE_COST: u64 = 64;
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
    words: Arc<Mutex<Option<String>>>,
    budget: Arc<Mutex<Budget>>,
}

impl PluginLog {
    pub(crate) fn new(name: Arc<str>, redact: Redactor) -> Self {
        Self {
            name,
            redact,
            panic: Arc::default(),
            words: Arc::default(),
            budget: Arc::new(Mutex::new(Budget {
                left: BURST,
                since: Instant::now(),
                left_out: 0,
            })),
        }
    }

    /// Logs what comes from `stream` until it ends.
    pub(crate) async fn follow(self, stream: impl AsyncRead + Unpin) {
        let mut reader = BufReader::new(stream);
        let mut line = Vec::new();
        loop {
            line.clear();
            let limit = LINE_LIMIT as u64;
            match (&mut reader).take(limit).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return self.settle(),
                Ok(_) => self.line(&String::from_utf8_lossy(&line)),
            }
        }
    }

    /// Logs one line.
    pub(crate) fn line(&self, line: &str) {
        let line = line.get(..line.floor_char_boundary(LINE_LIMIT)).unwrap_or(line);
        let line = line.trim_end();
        if line.is_empty() {
            return;
        }
        match lock(&self.budget).spend(line.len() as u64 + LINE_COST, Instant::now()) {
            None if !is_crash(line) => return,
            None | Some(0) => {}
            Some(count) => self.left_out(count),
        }
        match structured(line) {
            Some(entry) => self.event(&entry),
            None => {
                let line = (self.redact)(line);
                self.remember(&line);
                *lock(&self.words) = Some(line.chars().take(TAIL_WIDTH).collect());
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
        let mut kept = lock(&self.panic);
        if is_crash(line) {
            kept.clear();
        } else if kept.is_empty() || kept.len() >= TAIL_LINES {
            return;
        }
        kept.push_back(line.chars().take(TAIL_WIDTH).collect());
    }

    /// The last line that was plain text, redacted and cut.
    pub(crate) fn last_words(&self) -> Option<String> {
        lock(&self.words).clone()
    }

    /// Tells what was left out to the end.
    fn settle(&self) {
        match std::mem::take(&mut lock(&self.budget).left_out) {
            0 => {}
            count => self.left_out(count),
        }
    }

    fn left_out(&self, count: u64) {
        tracing::warn!(
            target: "ashlar::plugin",
            provider = %self.name,
            "{count} lines of the plugin's log were left out: it prints too much at once"
        );
    }

    /// The head of a crash report, if the plugin printed one; redacted.
    pub(crate) fn panic(&self) -> Option<String> {
        let kept = lock(&self.panic);
        (!kept.is_empty()).then(|| kept.iter().cloned().collect::<Vec<_>>().join("\n"))
    }
}

fn lock<T>(kept: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does a crash report begin here?
fn is_crash(line: &str) -> bool {
    line.starts_with("panic:") || line.starts_with("fatal error:")
}

/// How much may still be logged.
struct Budget {
    left: u64,
    since: Instant,
    /// Lines that were not logged, and not told of yet.
    left_out: u64,
}

impl Budget {
    /// May a line of this cost be logged? Then how many were left out before it.
    fn spend(&mut self, cost: u64, now: Instant) -> Option<u64> {
        let passed = u64::try_from(now.saturating_duration_since(self.since).as_millis()).unwrap_or(u64::MAX);
        if passed > 0 {
            self.left = BURST.min(self.left.saturating_add(passed.saturating_mul(PER_SECOND) / 1000));
            self.since = now;
        }
        match self.left.checked_sub(cost) {
            Some(left) => {
                self.left = left;
                Some(std::mem::take(&mut self.left_out))
            }
            None => {
                self.left_out += 1;
                None
            }
        }
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
    fn a_flood_is_left_out_and_told() {
        let start = Instant::now();
        let at = |ms: u64| start + std::time::Duration::from_millis(ms);
        let mut budget = Budget {
            left: 100,
            since: start,
            left_out: 0,
        };
        assert_eq!(budget.spend(90, at(0)), Some(0));
        assert_eq!(budget.spend(90, at(0)), None);
        assert_eq!(budget.spend(11, at(0)), None);
        assert_eq!(budget.spend(90, at(1)), Some(2));
        assert_eq!(budget.spend(90, at(2)), Some(0));
        // Patience does not buy more than the burst.
        assert_eq!(budget.spend(BURST + 1, at(1_000_000)), None);
        assert_eq!(budget.spend(BURST, at(1_000_000)), Some(1));
    }

    #[test]
    fn the_last_words_are_plain_and_cut() {
        let log = log();
        log.line("a secret came out");
        log.line(r#"{"@level":"error","@message":"no words"}"#);
        assert_eq!(log.last_words().as_deref(), Some("a *** came out"));
        log.line(&"x".repeat(3 * LINE_LIMIT));
        assert_eq!(log.last_words().map(|words| words.len()), Some(TAIL_WIDTH));
    }

    #[test]
    fn entries() {
        assert!(structured(r#"{"@level":"info","@message":"m","a":1}"#).is_some());
        for plain in ["{", "{}", "[1]", "text", r#"{"message":"m"}"#] {
            assert!(structured(plain).is_none(), "{plain}");
        }
    }
}
