//! The walk without a cluster: plan, apply through the gate, a second plan without changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use ashlar_xtask::tools::{self, Group, Tools};
use ashlar_xtask::{layout, process};

use super::{Approver, EXAMPLE};
use crate::step;

pub(super) fn walk(ashlar: &Path, folder: &Path, approver: Approver) -> Result<()> {
    let tools = tools::build(&[Group::Providers])?;
    let module = layout::root().join(EXAMPLE).join("main.tf");
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    fs::copy(&module, folder.join("main.tf")).with_context(|| format!("cannot copy {}", module.display()))?;
    let walk = Walk {
        ashlar,
        folder,
        tools: &tools,
    };
    let plan = step::text(walk.command(&["plan"]))?;
    let digest = digest(&plan).context("the plan shows no digest")?;
    match approver {
        Approver::Person => {
            let mut command = walk.command(&["apply"]);
            let status = command.status().context("cannot start ashlar")?;
            if !status.success() {
                bail!("{} ended with {status}", process::show(&command));
            }
        }
        Approver::Digest => {
            let text = step::text(walk.command(&["apply", "--approve", digest]))?;
            if !text.lines().any(|line| line.trim_end() == "Outputs:") {
                bail!("the apply shows no outputs");
            }
        }
    }
    step::stream(walk.command(&["plan", "--detailed-exitcode"])).context("the second plan has changes")
}

struct Walk<'a> {
    ashlar: &'a Path,
    folder: &'a Path,
    tools: &'a Tools,
}

impl Walk<'_> {
    /// A command of `ashlar`, printed as a person would type it in the folder.
    fn command(&self, words: &[&str]) -> Command {
        println!("\n$ ashlar {}", words.join(" "));
        let mut command = Command::new(self.ashlar);
        command.args(words).current_dir(self.folder);
        self.tools.set(&mut command);
        command
    }
}

/// The digest in the text of a plan.
fn digest(plan: &str) -> Option<&str> {
    plan.lines()
        .find_map(|line| Some(line.strip_prefix("Digest: ")?.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_found() {
        let text = "Plan: 1 to add.\n\nDigest: sha256:0af1\nApply it.\n";
        assert_eq!(digest(text), Some("sha256:0af1"));
        assert_eq!(digest("No changes."), None);
    }
}
