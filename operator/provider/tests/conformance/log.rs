//! What the crate logs, kept by provider.

use std::{
    collections::HashMap,
    fmt,
    sync::{LazyLock, Mutex},
};

use tracing::{
    Event, Level, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, layer::SubscriberExt, registry};

/// A line of the log.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) level: Level,
    pub(crate) text: String,
}

static LINES: LazyLock<Mutex<HashMap<String, Vec<Line>>>> = LazyLock::new(Mutex::default);

/// From now on all is kept.
pub(crate) fn listen() {
    tracing::subscriber::set_global_default(registry().with(Keep)).unwrap();
}

/// What was logged of a provider.
pub(crate) fn of(provider: &str) -> Vec<Line> {
    LINES.lock().unwrap().get(provider).cloned().unwrap_or_default()
}

struct Keep;

#[derive(Default)]
struct Fields {
    provider: String,
    text: String,
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        match field.name() {
            "provider" => self.provider = format!("{value:?}").trim_matches('"').to_owned(),
            "message" => self.text = format!("{value:?}"),
            _ => {}
        }
    }
}

impl<S: Subscriber> Layer<S> for Keep {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !event.metadata().target().starts_with("ashlar") {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let line = Line {
            level: *event.metadata().level(),
            text: fields.text,
        };
        let mut lines = LINES.lock().unwrap();
        lines.entry(fields.provider).or_default().push(line);
    }
}
