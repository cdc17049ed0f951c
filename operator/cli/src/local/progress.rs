//! Shows a run's progress, a line each, as Terraform does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use ashlar_port::{Activity, Event, Progress};
use tokio::task::JoinHandle;

use crate::printer::Printer;

/// How often what takes long is told to go on, in seconds.
const PATIENCE: u64 = 10;

/// Prints events as they come, and every now and then what takes long.
pub(crate) struct Lines {
    printer: Printer,
    /// What goes on, by what it is called, and what is done. One line at a time.
    running: Arc<Mutex<BTreeMap<String, Running>>>,
    ticker: JoinHandle<()>,
}

struct Running {
    doing: String,
    since: Instant,
}

impl Lines {
    /// Called where there is a runtime.
    pub(crate) fn new(printer: &Printer) -> Self {
        let running: Arc<Mutex<BTreeMap<String, Running>>> = Arc::default();
        Self {
            printer: *printer,
            running: running.clone(),
            ticker: tokio::spawn(remind(*printer, running)),
        }
    }

    fn note(&self, line: &str, change: impl FnOnce(&mut BTreeMap<String, Running>)) {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut running);
        self.printer.note(line);
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        self.ticker.abort();
    }
}

/// Tells what still goes on.
async fn remind(printer: Printer, running: Arc<Mutex<BTreeMap<String, Running>>>) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        let running = running.lock().unwrap_or_else(PoisonError::into_inner);
        for (what, Running { doing, since }) in &*running {
            let elapsed = since.elapsed().as_secs();
            if elapsed > 0 && elapsed.is_multiple_of(PATIENCE) {
                let (minutes, seconds) = (elapsed / 60, elapsed % 60);
                printer.note(&format!(
                    "{what}: Still {doing}... [{minutes:02}m{seconds:02}s elapsed]"
                ));
            }
        }
    }
}

impl Progress for Lines {
    fn tell(&self, event: Event) {
        let mut begun = None;
        let mut ended = None;
        let line = match event {
            Event::Started { address, activity } => {
                begun = Some((address.to_string(), doing(activity).to_lowercase()));
                format!("{address}: {}...", doing(activity))
            }
            // A refresh is told once, when it begins.
            Event::Completed {
                activity: Activity::Refresh,
                address,
                ..
            } => {
                let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
                running.remove(&address.to_string());
                return;
            }
            Event::Completed {
                address,
                activity,
                elapsed_ms,
            } => {
                ended = Some(address.to_string());
                format!("{address}: {} after {}s", done(activity), elapsed_ms / 1000)
            }
            Event::Failed {
                address,
                activity,
                elapsed_ms,
            } => {
                ended = Some(address.to_string());
                format!(
                    "{address}: {} failed after {}s",
                    doing(activity),
                    elapsed_ms / 1000
                )
            }
            Event::ActionStarted(invoked) => {
                begun = Some((invoked.to_string(), "invoking".to_owned()));
                format!("{invoked}: Invoking...")
            }
            Event::ActionSays(invoked, text) => format!("{invoked}: {}", plain_line(&text)),
            Event::ActionEnded {
                invoked,
                failed,
                elapsed_ms,
            } => {
                ended = Some(invoked.to_string());
                let verdict = if failed { "Invoking failed" } else { "Invoked" };
                format!("{invoked}: {verdict} after {}s", elapsed_ms / 1000)
            }
            Event::Provisioning { address, provisioner } => {
                begun = Some((address.to_string(), format!("provisioning with '{provisioner}'")));
                format!("{address}: Provisioning with '{provisioner}'...")
            }
            Event::ProvisionerSays {
                address,
                provisioner,
                line,
            } => format!("{address} ({provisioner}): {}", plain_line(&line)),
            Event::Provisioned {
                address,
                provisioner,
                failed,
            } => {
                ended = Some(address.to_string());
                let verdict = if failed { "failed" } else { "complete" };
                format!("{address}: Provisioning with '{provisioner}' {verdict}")
            }
        };
        self.note(&line, |running| {
            if let Some(ended) = ended {
                running.remove(&ended);
            }
            if let Some((what, doing)) = begun {
                let since = Instant::now();
                running.insert(what, Running { doing, since });
            }
        });
    }
}

/// What a provider says as one line that cannot steer the terminal.
fn plain_line(text: &str) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    text.trim_end().chars().map(plain).collect()
}

fn doing(activity: Activity) -> &'static str {
    match activity {
        Activity::Refresh => "Refreshing state",
        Activity::Read => "Reading",
        Activity::Create => "Creating",
        Activity::Update => "Modifying",
        Activity::Delete => "Destroying",
        Activity::Open => "Opening",
        Activity::Renew => "Renewing",
        Activity::Close => "Closing",
    }
}

fn done(activity: Activity) -> &'static str {
    match activity {
        Activity::Refresh => "Refresh complete",
        Activity::Read => "Read complete",
        Activity::Create => "Creation complete",
        Activity::Update => "Modifications complete",
        Activity::Delete => "Destruction complete",
        Activity::Open => "Opening complete",
        Activity::Renew => "Renewal complete",
        Activity::Close => "Closing complete",
    }
}
