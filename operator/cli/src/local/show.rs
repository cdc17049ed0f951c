//! `ashlar show` and `ashlar state show`: a state, one object of it, or a plan, for people or as Terraform's JSON.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use ashlar_diag::{Diags, Sources};
use ashlar_plan::{
    Plan,
    show::{state_json, whole_plan_json},
    text, wire,
};
use ashlar_runner::{Settings, schemas_of_plan, schemas_of_state};
use ashlar_state::State;
use ashlar_store::{Recovered, file::FileStore};
use ashlar_value::Dialect;

use super::{saved, session, workspace};
use crate::{
    args::{Place, ShowArgs, ShowObjectArgs},
    printer::Printer,
};

/// Runs `ashlar show`. Takes no lock: it only looks.
pub(crate) async fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let shown = Shown::open(&args.place, args.language.dialect, printer)?;
    match &args.file {
        Some(path) => shown.file(path, args.json).await?,
        None => {
            let recovered = peek(&args.place, printer).await?;
            if args.json {
                shown.state_as_json(&recovered.state).await?;
            } else {
                shown.state(&recovered).await?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs `ashlar state show`.
pub(crate) async fn object(args: &ShowObjectArgs, printer: &Printer) -> anyhow::Result<()> {
    let shown = Shown::open(&args.place, args.language.dialect, printer)?;
    let state = peek(&args.place, printer).await?.state;
    if state.current(&args.address).is_none() {
        bail!(
            "No instance found for the given address! `ashlar state list` tells what the state has, and {} is not among it.",
            args.address
        );
    }
    let schemas = schemas_of_state(&shown.settings, &shown.dir, shown.dialect, &state).await;
    let schemas = schemas.map_err(|diags| shown.told(&diags))?;
    let text = text::stored_object(&state, &args.address, &schemas, printer.style());
    printer.result(&text.map_err(|diags| shown.told(&diags))?);
    Ok(())
}

async fn peek(place: &Place, printer: &Printer) -> anyhow::Result<Recovered> {
    let (_, state) = workspace::selected(&place.dir, place.backends.elsewhere(), printer)?;
    let peeked = FileStore::peek(state).await;
    peeked.map_err(|diags| printer.told(&diags, &Sources::new()))
}

/// What is needed to ask providers what their objects look like.
struct Shown<'a> {
    printer: &'a Printer,
    settings: Settings,
    dir: std::path::PathBuf,
    dialect: Dialect,
    /// Removed when the command ends.
    _scratch: tempfile::TempDir,
}

impl<'a> Shown<'a> {
    fn open(place: &Place, dialect: Dialect, printer: &'a Printer) -> anyhow::Result<Self> {
        let dir = session::folder(place)?;
        let scratch = session::scratch()?;
        Ok(Self {
            printer,
            settings: session::settings(place, &dir, scratch.path(), printer)?,
            dir,
            dialect,
            _scratch: scratch,
        })
    }

    fn told(&self, diags: &Diags) -> anyhow::Error {
        self.printer.told(diags, &Sources::new())
    }

    async fn file(&self, path: &Path, json: bool) -> anyhow::Result<()> {
        let bytes = std::fs::read(path)
            .with_context(|| format!("Failed to read the given file {}", path.display()))?;
        if saved::is_foreign(&bytes) {
            bail!("{}", saved::foreign(path));
        }
        if !saved::is_plan(&bytes) {
            let state = ashlar_state::read(&bytes).map_err(|diags| self.told(&diags))?;
            if json {
                return self.state_as_json(&state).await;
            }
            let recovered = Recovered {
                state,
                ..Recovered::default()
            };
            return self.state(&recovered).await;
        }
        let Some((_, stored)) = saved::parts(&bytes) else {
            bail!(
                "The plan file {} cannot be read; it may be another version's. Plan anew.",
                path.display()
            );
        };
        let plan = wire::decode(stored).map_err(|diags| self.told(&diags))?;
        self.plan(&plan, json).await
    }

    async fn plan(&self, plan: &Plan, json: bool) -> anyhow::Result<()> {
        let found = schemas_of_plan(&self.settings, &self.dir, plan).await;
        let (tree, schemas) = found.map_err(|diags| self.told(&diags))?;
        if json {
            self.json(&whole_plan_json(plan, &tree, &schemas).map_err(|diags| self.told(&diags))?)
        } else {
            self.printer
                .result(&text::render(plan, &schemas, self.printer.style()));
            Ok(())
        }
    }

    /// A state's objects and outputs, and what is not known of it.
    async fn state(&self, recovered: &Recovered) -> anyhow::Result<()> {
        for intent in &recovered.uncertain {
            self.printer.note(&format!(
                "Uncertain: {} of {} was begun, its end is not known.",
                intent.action, intent.subject
            ));
        }
        let state = &recovered.state;
        if state.lineage.is_empty() && state.is_empty() {
            self.printer.result("No state.\n");
            return Ok(());
        }
        let schemas = schemas_of_state(&self.settings, &self.dir, self.dialect, state).await;
        let schemas = schemas.map_err(|diags| self.told(&diags))?;
        self.printer
            .result(&text::stored_state(state, &schemas, self.printer.style()));
        Ok(())
    }

    async fn state_as_json(&self, state: &State) -> anyhow::Result<()> {
        let schemas = schemas_of_state(&self.settings, &self.dir, self.dialect, state).await;
        let schemas = schemas.map_err(|diags| self.told(&diags))?;
        let json = state_json(state, &schemas).map_err(|diags| self.told(&diags))?;
        self.json(&json)
    }

    fn json(&self, json: &serde_json::Value) -> anyhow::Result<()> {
        self.printer
            .result(&format!("{}\n", serde_json::to_string(json)?));
        Ok(())
    }
}
