//! The approval of a plan: by digest, by a person at the terminal, or for whatever is planned.

use std::io::{BufRead, IsTerminal, Write};

use anyhow::bail;

use crate::{args::ApplyArgs, printer::Printer};

/// Passes only if the plan with this digest is approved.
pub(crate) fn pass(args: &ApplyArgs, digest: &str, printer: &Printer) -> anyhow::Result<()> {
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
    let nobody = printer.is_for_programs();
    if nobody || !args.basics.asking.is_allowed() || !std::io::stdin().is_terminal() {
        bail!(
            "Nobody can be asked here. Approve the plan above with --approve {digest}, or any plan with --auto-approve."
        );
    }
    printer.note("\nDo you want to perform these actions? Only 'yes' is accepted to approve.");
    let _ = write!(std::io::stderr().lock(), "  Enter a value: ");
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if answer.trim() == "yes" {
        return Ok(());
    }
    bail!("Not approved; nothing was changed.")
}
