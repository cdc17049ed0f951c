//! Shows a run's progress, a line or a message each, as Terraform does.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use ashlar_port::{Activity, Event, KnownBy, Progress, Task};
use tokio::task::JoinHandle;

use super::messages;
use crate::printer::Printer;

/// How often what takes long is told to go on, in seconds.
const PATIENCE: u64 = 10;

/// A longer id is cut in the middle where it is told again and again.
const LONGEST: usize = 80;

/// What tells of a run as the printer's readers want it. Called where there is a runtime.
pub(crate) fn teller(printer: &Printer) -> Box<dyn Progress> {
    if printer.is_for_programs() {
        Box::new(Messages::new(printer))
    } else {
        Box::new(Lines::new(printer))
    }
}

/// Sends events as messages as they come, and every now and then what takes long.
struct Messages {
    printer: Printer,
    running: Arc<Mutex<BTreeMap<Task, Instant>>>,
    ticker: JoinHandle<()>,
}

impl Messages {
    fn new(printer: &Printer) -> Self {
        let running: Arc<Mutex<BTreeMap<Task, Instant>>> = Arc::default();
        let (printer, going_on) = (*printer, running.clone());
        let ticker = tokio::spawn(async move {
            let mut seconds = tokio::time::interval(Duration::from_secs(1));
            loop {
                seconds.tick().await;
                let running = going_on.lock().unwrap_or_else(PoisonError::into_inner);
                for (task, since) in &*running {
                    let elapsed = since.elapsed().as_secs();
                    if elapsed > 0 && elapsed.is_multiple_of(PATIENCE) {
                        messages::still(task, elapsed)
                            .into_iter()
                            .for_each(|told| printer.message(told));
                    }
                }
            }
        });
        Self {
            printer,
            running,
            ticker,
        }
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.ticker.abort();
    }
}

impl Progress for Messages {
    fn tell(&self, event: Event) {
        // One message at a time.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(told) = messages::of_event(&event) {
            self.printer.message(told);
        }
        match event {
            Event::Started { task, .. } => {
                running.insert(task, Instant::now());
            }
            Event::Completed { task, .. } | Event::Failed { task, .. } => {
                running.remove(&task);
            }
            _ => {}
        }
    }
}

/// Prints events as they come, and every now and then what takes long.
struct Lines {
    printer: Printer,
    /// What goes on, by what it is called, and what is done. One line at a time.
    running: Arc<Mutex<BTreeMap<String, Running>>>,
    ticker: JoinHandle<()>,
}

struct Running {
    doing: String,
    known_by: Option<KnownBy>,
    since: Instant,
}

impl Lines {
    fn new(printer: &Printer) -> Self {
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
        for (
            what,
            Running {
                doing,
                known_by,
                since,
            },
        ) in &*running
        {
            let elapsed = since.elapsed().as_secs();
            if elapsed > 0 && elapsed.is_multiple_of(PATIENCE) {
                let (minutes, seconds) = (elapsed / 60, elapsed % 60);
                let by = known_by.as_ref().map_or_else(String::new, prefix);
                printer.note(&format!(
                    "{what}: Still {doing}... [{by}{minutes:02}m{seconds:02}s elapsed]"
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
            Event::Started { task, known_by } => {
                let what = task.to_string();
                let doing = doing(task.activity);
                let by = suffix(known_by.as_ref());
                if !is_told_once(task.activity) {
                    begun = Some((what.clone(), doing.to_lowercase(), known_by));
                }
                Some(format!("{what}: {doing}...{by}"))
            }
            Event::Completed { task, .. } if is_told_once(task.activity) => None,
            Event::Completed {
                task,
                known_by,
                elapsed_ms,
            } => {
                let what = task.to_string();
                let by = suffix(known_by.as_ref());
                let (done, seconds) = (done(task.activity), elapsed_ms / 1000);
                ended = Some(what.clone());
                Some(match task.activity {
                    Activity::Import => format!("{what}: {done}{by}"),
                    _ => format!("{what}: {done} after {seconds}s{by}"),
                })
            }
            Event::Failed { task, .. } if is_told_once(task.activity) => None,
            Event::Failed { task, elapsed_ms } => {
                let what = task.to_string();
                let (doing, seconds) = (doing(task.activity), elapsed_ms / 1000);
                ended = Some(what.clone());
                Some(format!("{what}: {doing} failed after {seconds}s"))
            }
            Event::ActionStarted(invoked) => {
                begun = Some((invoked.to_string(), "invoking".to_owned(), None));
                Some(format!("{invoked}: Invoking..."))
            }
            Event::ActionSays(invoked, text) => Some(format!("{invoked}: {}", plain_line(&text))),
            Event::ActionEnded {
                invoked,
                failed,
                elapsed_ms,
            } => {
                ended = Some(invoked.to_string());
                let verdict = if failed { "Invoking failed" } else { "Invoked" };
                Some(format!("{invoked}: {verdict} after {}s", elapsed_ms / 1000))
            }
            Event::Provisioning { address, provisioner } => {
                Some(format!("{address}: Provisioning with '{provisioner}'..."))
            }
            Event::ProvisionerSays {
                address,
                provisioner,
                line,
            } => Some(format!("{address} ({provisioner}): {}", plain_line(&line))),
            // It is part of a change, whose end is told.
            Event::Provisioned { .. } => None,
        };
        let Some(line) = line else { return };
        self.note(&line, |running| {
            if let Some(ended) = ended {
                running.remove(&ended);
            }
            if let Some((what, doing, known_by)) = begun {
                let since = Instant::now();
                let running_now = Running {
                    doing,
                    known_by,
                    since,
                };
                running.insert(what, running_now);
            }
        });
    }
}

/// Is it told when it begins, and no more?
fn is_told_once(activity: Activity) -> bool {
    matches!(activity, Activity::Refresh | Activity::Find)
}

/// What an object is known by, behind what is told of it.
fn suffix(known_by: Option<&KnownBy>) -> String {
    known_by.map_or_else(String::new, |by| {
        format!(" [{}={}]", by.key, plain_line(&by.value))
    })
}

/// What an object is known by, before how long something takes already.
fn prefix(known_by: &KnownBy) -> String {
    let value = plain_line(&known_by.value);
    let count = value.chars().count();
    if count <= LONGEST {
        return format!("{}={value}, ", known_by.key);
    }
    let half = LONGEST / 2 - 1;
    let start: String = value.chars().take(half).collect();
    let end: String = value.chars().skip(count - half).collect();
    format!("{}={start}...{end}, ", known_by.key)
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
        Activity::Find => "Preparing import",
        Activity::Import => "Importing",
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
        Activity::Find => "Import prepared",
        Activity::Import => "Import complete",
    }
}
