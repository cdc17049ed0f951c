//! What planning found out where nothing is to be done.
//!
//! Terraform applies such a plan, too, without asking anybody, and stores what was refreshed: what is gone, what data sources say,
//! what an object depends on by now. Later plans and the order of destruction stand on it. Source: Terraform
//! `internal/backend/local/backend_apply.go` (a trivial plan is applied and not confirmed). Changes no object.

use ashlar_state::{State, same_content};

use crate::{model::Plan, steps::Op};

impl Plan {
    /// The state to be kept, with the next serial, where nothing is to be applied and the stored one does not say the same;
    /// else `None`.
    pub fn found_out(&self) -> Option<State> {
        if self.errored || self.wants_apply() {
            return None;
        }
        let mut state = self.prior_state.clone();
        let dropped = self.steps.iter().filter_map(|step| match step.op {
            Op::Drop(at) => self.changes.get(at),
            _ => None,
        });
        for change in dropped {
            state.set(&change.address, change.deposed, &change.provider, None);
        }
        state.serial = self.previous_state.serial + 1;
        (!same_content(&state, &self.previous_state)).then_some(state)
    }
}
