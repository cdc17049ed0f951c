//! Plans in files: `plan --out`, `apply FILE`, `show FILE`.
//!
//! A file holds the plan as it is stored in a cluster, but unsealed: it is the owner's alone, like the state beside it.

use std::{io::Write, path::Path};

use anyhow::{Context, bail};
use ashlar_diag::Sources;
use ashlar_plan::{Line, Plan, StepId, wire};
use ashlar_store::Recovered;

use super::{
    inputs,
    session::{Ready, Session},
};
use crate::args::Values;

/// Keeps a plan, whole or not at all; the owner alone may read it.
pub(crate) fn keep(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let failed = || format!("The plan file {} cannot be written", path.display());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    file.write_all(bytes).with_context(failed)?;
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// Reads a plan that may be applied to what is there now.
pub(crate) fn open(
    session: &Session<'_>,
    path: &Path,
    values: &Values,
    recovered: &Recovered,
) -> anyhow::Result<Ready> {
    let bytes =
        std::fs::read(path).with_context(|| format!("Failed to load {:?} as a plan file", path.display()))?;
    let plan = wire::decode(&bytes).map_err(|diags| session.told(&diags, &Sources::new()))?;
    if plan.options.workspace != session.workspace {
        bail!(
            "The plan is of workspace {:?}, and workspace {:?} is selected. Select the other, or plan anew.",
            plan.options.workspace,
            session.workspace
        );
    }
    if plan.errored {
        bail!("Cannot apply incomplete plan: planning met errors. Mend them and plan anew.");
    }
    if let Some(fault) = plan.base_fault(&recovered.state) {
        return Err(session.told(&fault.into(), &Sources::new()));
    }
    let digest = session.identity.digest(&plan, recovered.begun.as_deref());
    let mut sources = Sources::new();
    let (inputs, faults) = inputs::gather(&session.dir, values, &mut sources)?;
    if faults.has_errors() {
        return Err(session.told(&faults, &sources));
    }
    Ok(Ready {
        plan,
        bytes,
        digest,
        inputs,
        sources,
    })
}

/// What apply does, a step on each line.
pub(crate) fn steps(plan: &Plan) -> String {
    let mut out = "\nSteps:\n".to_owned();
    for (at, step) in (0..).zip(&plan.steps) {
        let line = Line {
            id: StepId(at),
            step,
            changes: &plan.changes,
            invocations: &plan.invocations,
        };
        out.push_str(&format!("  {line}\n"));
    }
    out
}
