//! Joins: steps that do nothing but keep the number of edges linear.

use ashlar_graph::Graph;

use super::Op;

/// Numbers the joins of a table.
#[derive(Default)]
pub(super) struct Joins(u32);

impl Joins {
    /// All of `waiting` wait for all of `awaited`; through a join where that takes fewer edges, so that their number stays
    /// linear in instances.
    pub(super) fn connect(&mut self, draft: &mut Graph<Op>, waiting: &[Op], awaited: &[Op]) {
        if waiting.is_empty() || awaited.is_empty() {
            return;
        }
        if waiting.len() * awaited.len() <= waiting.len() + awaited.len() {
            for op in waiting {
                for other in awaited {
                    draft.depend(op.clone(), other.clone());
                }
            }
            return;
        }
        let join = Op::Join(self.0);
        self.0 += 1;
        for op in waiting {
            draft.depend(op.clone(), join.clone());
        }
        for op in awaited {
            draft.depend(join.clone(), op.clone());
        }
    }
}
