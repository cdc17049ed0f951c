//! `ashlar providers`: which providers each module needs, and which the state.
//!
//! Source of the layout: Terraform `internal/command/providers.go`.

use std::{collections::BTreeSet, path::Path, process::ExitCode};

use ashlar_addr::Module;
use ashlar_config::Tree;
use ashlar_diag::Sources;
use ashlar_runner::{Folders, load_module};
use ashlar_store::file::FileStore;

use super::{inputs, packages::Fetched, providers_lock, providers_mirror, session, workspace};
use crate::{
    args::{Fetching, Language, ProvidersArgs, ProvidersCommand, Values},
    printer::Printer,
};

/// The configuration in a folder, with all modules that it calls.
pub(crate) fn load(
    dir: &Path,
    values: &Values,
    fetching: &Fetching,
    language: &Language,
    sources: &mut Sources,
    printer: &Printer,
) -> anyhow::Result<Tree> {
    let dialect = language.dialect;
    let (given, _) = inputs::gather(dir, values, sources)?;
    let fetched = Fetched::open(dir, fetching, printer)?;
    let mut library = Folders {
        root: dir.to_owned(),
        dialect,
        confines: None,
        packages: Some(fetched.packages.clone()),
    };
    let files = inputs::module_files(dir, dialect)?;
    let (tree, _, diags) = load_module(&files, dialect, &given, &mut library, sources);
    fetched.keep(!diags.has_errors())?;
    if diags.has_errors() {
        return Err(printer.told(&diags, sources));
    }
    Ok(tree)
}

/// Runs the command.
pub(crate) async fn run(args: &ProvidersArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    match &args.command {
        Some(ProvidersCommand::Lock(args)) => return providers_lock::run(args, printer).await,
        Some(ProvidersCommand::Mirror(args)) => return providers_mirror::run(args, printer).await,
        None => {}
    }
    let dir = session::folder(&args.place)?;
    let mut sources = Sources::new();
    let tree = load(
        &dir,
        &args.values,
        &args.fetching,
        &args.language,
        &mut sources,
        printer,
    )?;
    let mut out = "\nProviders required by configuration:\n.\n".to_owned();
    branch(&tree, &Module::root(), "", &mut out);
    let (_, state_file) = workspace::selected(&dir, args.place.backends.elsewhere(), printer)?;
    let peeked = FileStore::peek(state_file).await;
    let state = peeked.map_err(|diags| printer.told(&diags, &sources))?.state;
    let used: BTreeSet<String> = state
        .resources
        .values()
        .map(|resource| resource.provider.provider.to_string())
        .collect();
    if !used.is_empty() {
        out.push_str("\nProviders required by state:\n\n");
        for provider in used {
            out.push_str(&format!("    provider[{provider}]\n\n"));
        }
    }
    printer.result(&out);
    Ok(ExitCode::SUCCESS)
}

/// What a module needs, then what those need that it calls.
fn branch(tree: &Tree, path: &Module, indent: &str, out: &mut String) {
    let Some(member) = tree.members.get(path) else {
        return;
    };
    let providers: Vec<String> = member
        .module
        .requirements()
        .into_iter()
        .map(|(provider, constraints)| {
            let constraints = constraints.to_string();
            let gap = if constraints.is_empty() { "" } else { " " };
            format!("provider[{provider}]{gap}{constraints}")
        })
        .collect();
    let calls: Vec<_> = member.module.calls.keys().collect();
    let count = providers.len() + calls.len();
    let lead = |at: usize| {
        if at + 1 == count {
            ("└── ", "    ")
        } else {
            ("├── ", "│   ")
        }
    };
    for (at, provider) in providers.iter().enumerate() {
        out.push_str(&format!("{indent}{}{provider}\n", lead(at).0));
    }
    for (at, name) in calls.into_iter().enumerate() {
        let (tee, inner) = lead(providers.len() + at);
        out.push_str(&format!("{indent}{tee}module.{name}\n"));
        branch(tree, &path.child(name.clone()), &format!("{indent}{inner}"), out);
    }
}
