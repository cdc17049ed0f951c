//! Plans in files: `plan --out`, `apply FILE`, `show FILE`.
//!
//! A file holds the plan as it is stored in a cluster, but unsealed: it is the owner's alone, like the state beside it. Before it
//! a line says on what the plan was made beside the state: what had been begun, and what was uncertain.

use std::{
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use ashlar_diag::Sources;
use ashlar_plan::{Line, Plan, StepId, wire};
use ashlar_runner::check_given;
use ashlar_store::Recovered;
use serde::{Deserialize, Serialize};

use super::{
    inputs,
    session::{Ready, Session},
};
use crate::args::Values;

/// With this a plan file begins.
const MARK: &[u8] = b"ashlar plan ";

/// On what a plan was made, beside the state.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ground {
    /// The plan whose apply began last.
    begun: Option<String>,
    /// The changes whose outcome was not known: what was asked, and of what.
    uncertain: Vec<(String, String)>,
    /// The folder it was made for.
    #[serde(default)]
    folder: Option<PathBuf>,
}

impl Ground {
    /// For this folder.
    pub(crate) fn within(mut self, folder: &Path) -> Self {
        self.folder = folder.canonicalize().ok();
        self
    }

    /// Why it is not for this folder: the one it was made for is there, and another. Where it is not there, this may be a
    /// copy of it on another machine.
    fn elsewhere(&self, here: &Path) -> Option<String> {
        let folder = self.folder.as_ref().filter(|folder| folder.is_dir())?;
        (here.canonicalize().ok().as_ref() != Some(folder)).then(|| {
            format!(
                "The plan was made for the folder {0}, and this is {1}. Apply it with `--dir {0}`.",
                folder.display(),
                here.display()
            )
        })
    }

    pub(crate) fn of(recovered: &Recovered) -> Self {
        let uncertain = recovered.uncertain.iter();
        Self {
            begun: recovered.begun.clone(),
            uncertain: uncertain
                .map(|intent| (intent.action.clone(), intent.subject.to_string()))
                .collect(),
            folder: None,
        }
    }

    /// Why a plan made on this cannot be applied on what is there now, if it cannot.
    fn fault(&self, now: &Self) -> Option<String> {
        let unseen = now
            .uncertain
            .iter()
            .find(|change| !self.uncertain.contains(change));
        if let Some((action, subject)) = unseen {
            return Some(format!(
                "Saved plan is stale: since it was made, a run was broken off that was about to {action} {subject}, and nobody \
                 knows whether that was done. Plan anew, and look at what is there."
            ));
        }
        (self.begun != now.begun).then(|| {
            "Saved plan is stale: since it was made, it was begun to be applied, or another was. Plan anew.".to_owned()
        })
    }
}

/// Keeps a plan, whole or not at all; the owner alone may read it.
pub(crate) fn keep(path: &Path, bytes: &[u8], ground: &Ground) -> anyhow::Result<()> {
    let failed = || format!("The plan file {} cannot be written", path.display());
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    let line = serde_json::to_vec(ground).with_context(failed)?;
    for part in [MARK, &line, b"\n", bytes] {
        file.write_all(part).with_context(failed)?;
    }
    file.persist(path).with_context(failed)?;
    Ok(())
}

/// Is it a plan file?
pub(crate) fn is_plan(bytes: &[u8]) -> bool {
    bytes.starts_with(MARK)
}

/// Is it one of Terraform's or OpenTofu's plan files? They are archives.
pub(crate) fn is_foreign(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04")
}

/// What there is to do with one.
pub(crate) fn foreign(path: &Path) -> String {
    format!(
        "{} is a plan that Terraform or OpenTofu made. Ashlar reads none of theirs: go on with it there (`terraform apply`, `terraform \
         show`), or plan anew with `ashlar plan --out FILE`.",
        path.display()
    )
}

/// The parts of a plan file: on what it was made, and the plan in its stored form.
pub(crate) fn parts(bytes: &[u8]) -> Option<(Ground, &[u8])> {
    let rest = bytes.strip_prefix(MARK)?;
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let (line, plan) = rest.split_at_checked(end)?;
    Some((serde_json::from_slice(line).ok()?, plan.get(1..)?))
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
    if is_foreign(&bytes) {
        bail!("{}", foreign(path));
    }
    let Some((ground, stored)) = parts(&bytes) else {
        bail!(
            "Failed to load {:?} as a plan file: it is none that `plan --out` wrote, or not in this form. Plan anew.",
            path.display()
        );
    };
    if let Some(why) = ground.elsewhere(&session.dir) {
        bail!("{why}");
    }
    let plan = wire::decode(stored).map_err(|diags| session.told(&diags, &Sources::new()))?;
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
    if let Some(why) = ground.fault(&Ground::of(recovered)) {
        bail!("{why}");
    }
    let digest = session.identity.digest(&plan, recovered.begun.as_deref());
    let mut sources = Sources::new();
    let (inputs, faults) = inputs::gather(&session.dir, values, &mut sources)?;
    if faults.has_errors() {
        return Err(session.told(&faults, &sources));
    }
    // Before it is begun: a value that is missing can still be given.
    let faults = check_given(&plan, &inputs, &mut sources);
    if faults.has_errors() {
        return Err(session.told(&faults, &sources));
    }
    Ok(Ready {
        plan,
        bytes: stored.to_vec(),
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

#[cfg(test)]
mod tests {
    use ashlar_port::{Intent, Subject};

    use super::*;

    #[test]
    fn a_plan_stands_only_on_what_it_was_made_on() {
        let ground = |begun: Option<&str>, uncertain: &[&str]| {
            let intent = |address: &&str| Intent {
                subject: Subject::Object(address.parse().unwrap(), None),
                action: "create".to_owned(),
            };
            Ground::of(&Recovered {
                begun: begun.map(str::to_owned),
                uncertain: uncertain.iter().map(intent).collect(),
                ..Recovered::default()
            })
        };
        let check = |made: &Ground, now: &Ground| made.fault(now).is_none();
        let made = ground(Some("d"), &["a.b"]);
        assert!(check(&made, &ground(Some("d"), &["a.b"])));
        assert!(check(&made, &ground(Some("d"), &[])), "somebody looked after it");
        assert!(!check(&made, &ground(Some("e"), &["a.b"])), "begun since");
        assert!(!check(&made, &ground(Some("d"), &["a.b", "a.c"])));
        assert!(!check(&ground(None, &[]), &ground(Some("d"), &[])));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        keep(&path, b"bytes\n{", &made).unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(parts(&bytes), Some((made, &b"bytes\n{"[..])));
        assert_eq!(parts(b"{\n"), None);
    }
}
