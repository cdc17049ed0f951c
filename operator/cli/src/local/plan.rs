//! `ashlar plan`: shows what would be done, and the digest that approves it.

use std::process::ExitCode;

use ashlar_config::Files;

use super::{
    apply::UNSETTLED,
    saved,
    session::{Asked, Session},
};
use crate::{args::PlanArgs, printer::Printer};

/// Runs the command.
pub(crate) async fn run(args: &PlanArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let session = Session::open(&args.basics.place, printer)?;
    let (store, recovered) = session
        .lock("OperationTypePlan", args.basics.lock_timeout)
        .await?;
    let ready = session
        .plan(
            &recovered,
            Asked {
                basics: &args.basics,
                choices: &args.choices,
                destroy: args.destroy,
                generate: args.generate_config_out.as_deref(),
                more: Files::new(),
            },
        )
        .await?;
    drop(store);
    if args.steps {
        printer.result(&saved::steps(&ready.plan));
    }
    let place = &args.basics.place;
    let dir = match place.dir.to_str() {
        Some(".") => String::new(),
        _ => format!("--dir {} ", place.dir.display()),
    };
    if let Some(path) = &args.out {
        let ground = saved::Ground::of(&recovered).within(&session.dir);
        saved::keep(path, &ready.bytes, &ground)?;
        if ready.plan.errored {
            printer.note(&format!(
                "\nThe plan is kept in {} as far as planning came. It can be looked at, and not be applied.",
                path.display()
            ));
            return Ok(ExitCode::FAILURE);
        }
        printer.note(&format!(
            "\nThe plan is kept in {0}. Apply it with `ashlar apply {dir}{0}`.",
            path.display()
        ));
    }
    if ready.plan.errored {
        return Ok(ExitCode::FAILURE);
    }
    let wants_apply = ready.plan.wants_apply();
    let settles = !wants_apply && !recovered.uncertain.is_empty();
    if settles {
        printer.note(UNSETTLED);
    }
    if wants_apply || settles {
        printer.result(&format!(
            "\nDigest: {}\nApply exactly this plan with `ashlar {} {dir}--approve {}` and the same options.\n",
            ready.digest,
            if args.destroy { "destroy" } else { "apply" },
            ready.digest
        ));
        if wants_apply && args.detailed_exitcode {
            return Ok(ExitCode::from(2));
        }
    }
    Ok(ExitCode::SUCCESS)
}
