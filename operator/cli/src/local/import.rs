//! `ashlar import`: takes an object that exists into the state, for a resource that is configured.
//!
//! The configuration is planned with one more `import` block, and of the plan only the object that was found is kept: nothing
//! is made or changed. Source of the rules: Terraform `internal/command/import.go`.

use std::process::ExitCode;

use anyhow::bail;
use ashlar_addr::{Mode, Target};
use ashlar_diag::{Diags, Sources};
use ashlar_eval::source_text;
use ashlar_port::{Record, RunStore, Subject};
use ashlar_state::settled_as;
use ashlar_value::Value;

use super::session::Session;
use crate::{
    args::{Choices, Fetching, ImportArgs, Language},
    printer::Printer,
};

/// Where the block is said to stand.
const PLACE: &str = "<import-address>.tf";

/// The summary of the warning that a plan is limited.
const LIMITED: &str = "Resource targeting is in effect";

/// The plan is limited to the object: of all others nothing is wanted.
fn choices(args: &ImportArgs) -> anyhow::Result<Choices> {
    let target: Target = args.address.to_string().parse()?;
    Ok(Choices {
        refresh: true,
        refresh_only: false,
        replace: Vec::new(),
        invoke: None,
        targets: vec![target],
        excludes: Vec::new(),
        parallelism: args.parallelism,
        fetching: Fetching {
            upgrade: args.fetching.upgrade,
        },
        language: Language {
            dialect: args.language.dialect,
        },
    })
}

/// Runs the command.
pub(crate) async fn run(args: &ImportArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let address = &args.address;
    if address.resource.resource.mode != Mode::Managed {
        bail!("Only an object of a managed resource can be imported, and {address} is none.");
    }
    let session = Session::open(&args.place, printer)?;
    let failed = |diags: Diags| session.told(&diags, &Sources::new());
    let (store, recovered) = session.lock("OperationTypeImport").await?;
    if recovered.state.current(address).is_some() {
        bail!(
            "Resource already managed by Terraform: the state has an object for {address}. Forget it first with `ashlar state rm \
             {address}`."
        );
    }
    // As a value, so that nothing in it is taken for a template.
    let id = source_text(&Value::string(&*args.id));
    let block = format!("import {{\n  to = {address}\n  id = {id}\n}}\n");
    let more = vec![(PLACE.into(), block.into())];
    let made = session
        .make_plan(&recovered, &args.values, &choices(args)?, false, None, more)
        .await?;
    // The limit is the command's, not the person's.
    let told = made.diags.iter().filter(|diag| &*diag.summary != LIMITED);
    printer.diags(&told.cloned().collect(), &made.sources);
    let now = &made.ready.plan.prior_state;
    let found = now.current(address).cloned();
    let resource = now.resources.get(&address.resource);
    let (Some(found), Some(resource)) = (found, resource) else {
        bail!("No object was found for {address}.");
    };
    let mut state = recovered.state.clone();
    state.set(address, None, &resource.provider_of(&address.key), Some(found));
    if state.lineage.is_empty() {
        state.lineage = crate::state::new_lineage();
    }
    state.serial += 1;
    // The journal knows by this that a change of it that was begun once has been looked after.
    let subject = Subject::Object(address.clone(), None);
    let record = Record::Outcome(settled_as(&state, &subject).map_err(failed)?);
    store.journal(vec![record]).await.map_err(failed)?;
    let bytes = ashlar_state::write(&state, crate::state::VERSION).map_err(failed)?;
    store.save(bytes, 1).await.map_err(failed)?;
    printer.result(&format!(
        "\nImport successful! {address} is in the state now and is managed from here on.\n"
    ));
    Ok(ExitCode::SUCCESS)
}
