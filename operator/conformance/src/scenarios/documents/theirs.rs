//! Terraform takes a step of a scenario, and shows its plan and its state.

use anyhow::Context;
use serde_json::{Value as Json, json};

use super::has_state;
use crate::scenarios::{
    random::{Peer, flags, variables},
    step::{Bench, strings},
};

/// The file a plan is kept in.
const PLANNED: &str = "plan.bin";

/// Runs one step where the bench stands; what cannot be shown is null.
pub(super) fn step(peer: &Peer, bench: &Bench, step: &Json, first: bool) -> anyhow::Result<Json> {
    bench.prepare(step)?;
    let planned = bench.work.join(PLANNED);
    if planned.exists() {
        std::fs::remove_file(&planned)?;
    }
    let mut out = json!({ "step": step["name"] });
    let succeeds = |words: &[String]| -> anyhow::Result<bool> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let done = peer.command(bench, step, &words).output();
        Ok(done.context("running Terraform")?.status.success())
    };
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    if (first || step["files"].is_object()) && !succeeds(&words(&["init", "-input=false"]))? {
        return Ok(out);
    }
    match step["action"].as_str().context("a step without action")? {
        "validate" => {}
        "command" => {
            succeeds(&strings(&step["argv"]))?;
        }
        action => {
            let mut plan = words(&["plan", "-input=false", "-out=plan.bin"]);
            match action {
                "destroy" => plan.push("-destroy".to_owned()),
                "refresh-only" => plan.push("-refresh-only".to_owned()),
                _ => {}
            }
            plan.extend(flags(step));
            let planned_well = succeeds(&plan)?;
            if planned.exists() {
                out["plan"] = show(peer, bench, step, Some(PLANNED))?;
            }
            if planned_well && action != "plan" && step["options"]["plan_only"] != true {
                let mut apply = words(&["apply", "-input=false"]);
                if let Some(limit) = step["options"]["parallelism"].as_u64() {
                    apply.push(format!("-parallelism={limit}"));
                }
                apply.extend(variables(&step["options"]["apply_vars"]));
                apply.push(PLANNED.to_owned());
                succeeds(&apply)?;
            }
        }
    }
    if has_state(step) {
        out["state"] = show(peer, bench, step, None)?;
    }
    Ok(out)
}

fn show(peer: &Peer, bench: &Bench, step: &Json, file: Option<&str>) -> anyhow::Result<Json> {
    let mut words = vec!["show", "-json"];
    words.extend(file);
    let done = peer
        .command(bench, step, &words)
        .output()
        .context("running Terraform")?;
    if !done.status.success() {
        return Ok(Json::Null);
    }
    Ok(serde_json::from_slice(&done.stdout)?)
}
