//! `ashlar import`: takes an object that exists into the state, for a resource that is configured.
//!
//! The configuration is planned with one more `import` block, and of the plan only the object that was found is kept: nothing
//! is made or changed. Source of the rules: Terraform `internal/command/import.go`.

use std::process::ExitCode;

use anyhow::bail;
use ashlar_addr::{Mode, ResourceInstance, Target};
use ashlar_diag::{Diags, Sources};
use ashlar_eval::source_text;
use ashlar_port::{Record, RunStore, Subject};
use ashlar_state::settled_as;
use ashlar_value::Value;

use super::{
    inputs,
    session::{Asked, Session},
};
use crate::{
    args::{Choices, ImportArgs, Limits},
    printer::Printer,
};

/// Where the block is said to stand.
const PLACE: &str = "<import-address>.tf";

/// The summary of the warning that a plan is limited.
const LIMITED: &str = "Resource targeting is in effect";

/// The summary of the error that nothing declares what is imported into.
const UNDECLARED: &str = "Configuration for import target does not exist";

/// The plan is limited to the object: of all others nothing is wanted.
fn choices(args: &ImportArgs) -> anyhow::Result<Choices> {
    let target: Target = args.address.to_string().parse()?;
    Ok(Choices::within(Limits {
        targets: vec![target],
        excludes: Vec::new(),
    }))
}

/// What to do about an address that nothing declares; in Terraform's form.
fn undeclared(address: &ResourceInstance) -> String {
    let resource = &address.resource.resource;
    let place = match address.resource.module.is_root() {
        true => "the root module".to_owned(),
        false => address.resource.module.to_string(),
    };
    format!(
        "resource address {:?} does not exist in the configuration.\n\nAn object is imported for a resource that is \
         configured. Write its block into {place} first, for example:\n\nresource \"{}\" \"{}\" {{\n  # (resource arguments)\n}}",
        address.to_string(),
        resource.kind,
        resource.name
    )
}

/// Runs the command.
pub(crate) async fn run(args: &ImportArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let address = &args.address;
    if address.resource.resource.mode != Mode::Managed {
        bail!("Only an object of a managed resource can be imported, and {address} is none.");
    }
    let session = Session::open(&args.basics.place, printer)?;
    inputs::module_files(&session.dir, args.basics.language.dialect)?;
    let failed = |diags: Diags| session.told(&diags, &Sources::new());
    let (store, recovered) = session
        .lock("OperationTypeImport", args.basics.lock_timeout)
        .await?;
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
    let choices = choices(args)?;
    let asked = Asked {
        basics: &args.basics,
        choices: &choices,
        destroy: false,
        generate: None,
        more,
    };
    let made = session.make_plan(&recovered, asked).await?;
    if made.diags.iter().any(|diag| &*diag.summary == UNDECLARED) {
        bail!("{}", undeclared(address));
    }
    // The limit is the command's, not the person's.
    let told = made.diags.iter().filter(|diag| &*diag.summary != LIMITED);
    let told: Diags = told.cloned().collect();
    let Some(ready) = made.ready.filter(|_| !told.has_errors()) else {
        return Err(session.told(&told, &made.sources));
    };
    printer.diags(&told, &made.sources);
    let now = &ready.plan.prior_state;
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
        "\nImport successful!\n\nThe object that is named above is in the state now, and is managed as {address} from here on.\n"
    ));
    Ok(ExitCode::SUCCESS)
}
