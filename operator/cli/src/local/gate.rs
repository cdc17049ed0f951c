//! The approval of a plan: by digest, by a person's word, or for whatever is planned.
//!
//! A word is read from standard input, be it a terminal or not, as Terraform reads it. No word is never taken for one.
//!
//! Source: Terraform `internal/backend/local/backend_apply.go`, `internal/command/ui_input.go`.

use anyhow::bail;
use ashlar_plan::{Mode, Plan};
use ashlar_store::file::DEFAULT;

use super::asking::answer;
use crate::{args::ApplyArgs, printer::Printer};

/// The one word that approves.
const YES: &str = "yes";

/// Passes only if this plan, which has this digest, is approved.
pub(crate) fn pass(args: &ApplyArgs, plan: &Plan, digest: &str, printer: &Printer) -> anyhow::Result<()> {
    if args.auto_approve {
        return Ok(());
    }
    if let Some(approved) = &args.approve {
        if approved == digest {
            return Ok(());
        }
        bail!(
            "The approval is for another plan.\n  approved: {approved}\n  planned:  {digest}\nLook at the plan above, and \
             approve it with --approve {digest}"
        );
    }
    let may_ask = !printer.is_for_programs() && args.basics.asking.is_allowed();
    match may_ask.then(|| agreed(&question(plan), printer)).flatten() {
        Some(true) => Ok(()),
        Some(false) => bail!("Not approved; nothing was changed."),
        None => bail!(
            "Nobody can be asked here. Approve the plan above with --approve {digest}, or any plan with --auto-approve."
        ),
    }
}

/// Asks, and tells whether the answer is yes; nothing if there is none.
pub(crate) fn agreed(question: &str, printer: &Printer) -> Option<bool> {
    printer.note(&format!("\n{question}\n  Only 'yes' is accepted.\n"));
    let word = answer(
        "  Enter a value: ",
        &mut std::io::stdin().lock(),
        &mut std::io::stderr().lock(),
    )?;
    Some(word == YES)
}

/// In Terraform's words, but without its warnings.
fn question(plan: &Plan) -> String {
    let workspace = Some(&*plan.options.workspace).filter(|name| *name != DEFAULT);
    let within =
        |word: &str| workspace.map_or_else(String::new, |name| format!(" {word} workspace {name:?}"));
    match plan.options.mode {
        Mode::Destroy => format!("Do you really want to destroy all resources{}?", within("in")),
        Mode::RefreshOnly if !plan.options.invoke.is_empty() => {
            "Would you like to invoke the specified actions?".to_owned()
        }
        Mode::RefreshOnly => format!(
            "Would you like to update the state{} to reflect these detected changes?",
            within("of")
        ),
        Mode::Normal => format!("Do you want to perform these actions{}?", within("in")),
    }
}
