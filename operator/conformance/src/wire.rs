//! The `wire` cases.

use std::path::Path;

use crate::report::Report;

/// Runs every case under `cases`.
pub(crate) fn run(cases: &Path, _report: &mut Report) -> anyhow::Result<()> {
    anyhow::bail!(
        "the wire cases in {} cannot be run: nothing evaluates them yet",
        cases.display()
    )
}
