//! The counts of a plan in words.

use std::fmt;

use super::is_of_interest;
use crate::{Action, Plan};

/// How many objects are added, changed and destroyed; a replacement is an addition and a destruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the count of what it names")]
pub struct Counts {
    pub import: usize,
    pub add: usize,
    pub change: usize,
    pub destroy: usize,
    pub forget: usize,
    pub invoke: usize,
}

impl Counts {
    /// The counts of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut counts = Self {
            invoke: plan.invocations.len(),
            ..Self::default()
        };
        for change in plan.changes.iter().filter(|change| is_of_interest(change)) {
            counts.import += usize::from(change.importing.is_some());
            match change.action {
                Action::NoOp | Action::Read => {}
                Action::Forget => counts.forget += 1,
                Action::Create => counts.add += 1,
                Action::ForgetThenCreate => {
                    counts.add += 1;
                    counts.forget += 1;
                }
                Action::Update => counts.change += 1,
                Action::Delete => counts.destroy += 1,
                Action::DeleteThenCreate | Action::CreateThenDelete => {
                    counts.add += 1;
                    counts.destroy += 1;
                }
            }
        }
        counts
    }
}

/// `2 to add, 1 to change, 0 to destroy.`; what is imported, forgotten and invoked is told where there
/// is any.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            import,
            add,
            change,
            destroy,
            forget,
            invoke,
        } = self;
        if *import > 0 {
            write!(f, "{import} to import, ")?;
        }
        write!(f, "{add} to add, {change} to change, {destroy} to destroy")?;
        if *forget > 0 {
            write!(f, ", {forget} to forget")?;
        }
        f.write_str(".")?;
        if *invoke > 0 {
            write!(f, " Actions: {invoke} to invoke.")?;
        }
        Ok(())
    }
}

/// The plan in one line, for a status or an event: counts, never values.
pub fn summary(plan: &Plan) -> String {
    let mut more = Vec::new();
    let counts = plan.summary();
    for (count, what) in [(counts.moves, "moved"), (counts.drift, "changed outside")] {
        if count > 0 {
            more.push(format!(" Objects {what}: {count}."));
        }
    }
    if counts.outputs > 0 {
        more.push(format!(" Outputs changed: {}.", counts.outputs));
    }
    if plan.errored {
        more.push(" Planning did not complete.".to_owned());
    }
    format!("Plan: {}{}", Counts::of(plan), more.concat())
}
