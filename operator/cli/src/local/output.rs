//! `ashlar output`: values of root outputs, from the state.
//!
//! Source: Terraform `internal/command/output.go`, `views/output.go`.

use std::process::ExitCode;

use anyhow::bail;
use ashlar_diag::Sources;
use ashlar_eval::show;
use ashlar_plan::text;
use ashlar_state::OutputState;
use ashlar_store::file::FileStore;
use ashlar_value::{Type, Value, convert, json};
use serde_json::{Map, Value as Json, json};

use super::workspace;
use crate::{args::OutputArgs, printer::Printer};

/// Runs the command. Takes no lock: it only looks.
pub(crate) async fn run(args: &OutputArgs, printer: &Printer) -> anyhow::Result<ExitCode> {
    let (_, state) = workspace::selected(&args.place.dir, args.place.backends.elsewhere(), printer)?;
    let peeked = FileStore::peek(state).await;
    let state = peeked
        .map_err(|diags| printer.told(&diags, &Sources::new()))?
        .state;
    let one = match &args.name {
        None => None,
        Some(name) => match state.outputs.get(name.as_str()) {
            Some(output) => Some((name, output)),
            None if state.outputs.is_empty() && !args.json => {
                printer.note("Warning: No outputs found. The state has none; those that are new in the configuration come into it when it is applied.");
                return Ok(ExitCode::SUCCESS);
            }
            None => bail!(
                "Output {name:?} not found. The state has none of that name; one that is new in the configuration comes into it \
                 when it is applied."
            ),
        },
    };
    match one {
        Some((name, output)) if args.raw => printer.result(&raw(name, &output.value)?),
        Some((_, output)) if args.json => printer.result(&format!("{}\n", value_json(output)?)),
        Some((_, output)) => printer.result(&format!("{}\n", show(&output.value))),
        None if args.json => {
            let mut all = Map::new();
            for (name, output) in &state.outputs {
                let told = json!({
                    "sensitive": output.sensitive,
                    "type": json::type_to_json(&output.value.ty()),
                    "value": value_json(output)?,
                });
                all.insert(name.to_string(), told);
            }
            printer.result(&format!(
                "{}\n",
                serde_json::to_string_pretty(&Json::Object(all))?
            ));
        }
        None if state.outputs.is_empty() => {
            printer.note("Warning: No outputs found. The state has none; those that are new in the configuration come into it when it is applied.");
        }
        None => {
            // Without the heading: whoever asks for outputs knows that these are some.
            let all = text::outputs(&state, text::Style::Plain);
            let lines = all.split_once("\n\n").map_or("", |(_, lines)| lines);
            printer.result(lines);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn value_json(output: &OutputState) -> anyhow::Result<Json> {
    let encoded = json::encode(&output.value, &output.value.ty());
    let encoded = encoded
        .map_err(|error| anyhow::anyhow!("The output cannot be written as JSON: {}", error.message))?;
    Ok(serde_json::from_slice(&encoded)?)
}

/// A value as scripts want it, without a line feed behind it.
fn raw(name: &str, value: &Value) -> anyhow::Result<String> {
    match convert(value, &Type::String) {
        Ok(text) if text.is_null() => {
            bail!("Unsupported value for raw output: {name:?} is null, so there is nothing to print.")
        }
        Ok(text) => match text.as_str() {
            Some(text) => Ok(text.to_string()),
            None => bail!("Unsupported value for raw output: {name:?} is not known."),
        },
        Err(_) => bail!(
            "Unsupported value for raw output: only strings, numbers and bools can be printed as they are, and {name:?} is none of \
             these. Use --json."
        ),
    }
}
