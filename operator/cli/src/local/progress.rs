//! Shows a run's progress, a line each, as Terraform does.

use std::sync::Mutex;

use ashlar_port::{Activity, Event, Progress};

use crate::printer::Printer;

/// Prints events as they come.
pub(crate) struct Lines<'a> {
    printer: &'a Printer,
    /// One line at a time.
    turn: Mutex<()>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(printer: &'a Printer) -> Self {
        Self {
            printer,
            turn: Mutex::new(()),
        }
    }
}

impl Progress for Lines<'_> {
    fn tell(&self, event: Event) {
        let line = match event {
            Event::Started { address, activity } => format!("{address}: {}...", doing(activity)),
            // A refresh is told once, when it begins.
            Event::Completed {
                activity: Activity::Refresh,
                ..
            } => return,
            Event::Completed {
                address,
                activity,
                elapsed_ms,
            } => {
                format!("{address}: {} after {}s", done(activity), elapsed_ms / 1000)
            }
            Event::Failed {
                address,
                activity,
                elapsed_ms,
            } => {
                format!(
                    "{address}: {} failed after {}s",
                    doing(activity),
                    elapsed_ms / 1000
                )
            }
            Event::ActionStarted(invoked) => format!("{invoked}: Invoking..."),
            Event::ActionSays(invoked, text) => format!("{invoked}: {}", plain_line(&text)),
            Event::ActionEnded {
                invoked,
                failed,
                elapsed_ms,
            } => {
                let verdict = if failed { "Invoking failed" } else { "Invoked" };
                format!("{invoked}: {verdict} after {}s", elapsed_ms / 1000)
            }
            Event::Provisioning { address, provisioner } => {
                format!("{address}: Provisioning with '{provisioner}'...")
            }
            Event::ProvisionerSays {
                address,
                provisioner,
                line,
            } => format!("{address} ({provisioner}): {}", plain_line(&line)),
            // An error is told with the others.
            Event::Provisioned { .. } => return,
        };
        let _turn = self.turn.lock();
        self.printer.note(&line);
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
