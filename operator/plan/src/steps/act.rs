//! What a change comes to: making an object, destroying one, or both.

use ashlar_addr::Mode as ResourceMode;

use super::{Facts, Op};
use crate::model::{Action, Change, Mode};

/// One half of a change, or all of it.
pub(super) struct Act<'a> {
    pub(super) op: Op,
    pub(super) part: Part,
    pub(super) change: &'a Change,
    /// Where the change stands in the plan.
    pub(super) at: usize,
}

/// What an act does to an object, seen from those that depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Creates, updates or reads it, or decides its conditions.
    Make,
    /// Destroys it before anything takes its place.
    DestroyFirst,
    /// Destroys it after what takes its place was made, and after its dependents have turned to that.
    DestroyLast,
}

/// All acts, in the order of changes.
pub(super) fn acts<'a>(facts: &Facts<'a>) -> Vec<Act<'a>> {
    let mut acts = Vec::new();
    for (at, change) in facts.changes.iter().enumerate() {
        let mut add = |op, part| acts.push(Act { op, part, change, at });
        match change.action {
            // Its conditions look at what others come to.
            Action::NoOp if facts.mode == Mode::Normal && change.is_visited(facts.sight.tree) => {
                add(Op::Assert(at), Part::Make);
            }
            // The state alone has to do with these.
            Action::NoOp | Action::Forget => {}
            Action::Read => add(Op::Read(at), Part::Make),
            Action::Create | Action::Update | Action::ForgetThenCreate => add(Op::Write(at), Part::Make),
            Action::DeleteThenCreate => {
                add(Op::Delete(at), Part::DestroyFirst);
                add(Op::Write(at), Part::Make);
            }
            Action::CreateThenDelete => {
                add(Op::Write(at), Part::Make);
                add(Op::Delete(at), Part::DestroyLast);
            }
            // It only leaves the state, but no sooner than what was made of it is gone.
            Action::Delete if change.address.resource.resource.mode == ResourceMode::Data => {
                add(Op::Drop(at), Part::DestroyFirst);
            }
            Action::Delete => add(Op::Delete(at), destroyed(change)),
        }
    }
    acts
}

/// A deposed object has been replaced, so it goes last whatever was recorded with it.
fn destroyed(change: &Change) -> Part {
    if change.deposed.is_some() || change.create_before_destroy {
        Part::DestroyLast
    } else {
        Part::DestroyFirst
    }
}
