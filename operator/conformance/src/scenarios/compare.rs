//! Holds what happened against the record, strictly: see the last part of the records' README.

use serde_json::{Value as Json, json};

use super::facts::is_compared;
use crate::report::Miss;

const PHASES: &[&str] = &["init", "validate", "command", "plan", "apply"];

/// The first difference, if there is one.
pub(super) fn compare(expected: &Json, got: &[Json]) -> Result<(), Miss> {
    let steps = expected.as_array().map_or(&[][..], Vec::as_slice);
    for (wanted, step) in steps.iter().zip(got) {
        let name = wanted["name"].as_str().unwrap_or_default();
        compare_step(wanted, step).map_err(|miss| {
            Miss::new(
                format!("[{name}] {}", miss.expected),
                format!("[{name}] {}", miss.got),
            )
        })?;
    }
    if steps.len() == got.len() {
        Ok(())
    } else {
        Err(Miss::new(
            format!("{} steps", steps.len()),
            format!("{} steps", got.len()),
        ))
    }
}

fn compare_step(wanted: &Json, got: &Json) -> Result<(), Miss> {
    for phase in PHASES {
        match (wanted.get(*phase), got.get(*phase)) {
            (None, None) => {}
            (Some(wanted), Some(got)) => compare_phase(phase, wanted, got)?,
            (None, Some(got)) => {
                return Err(Miss::new(
                    format!("no {phase}"),
                    format!("{phase}: {}", brief(got)),
                ));
            }
            (Some(wanted), None) => {
                return Err(Miss::new(
                    format!("{phase}: {}", brief(wanted)),
                    format!("no {phase}"),
                ));
            }
        }
    }
    same("state", &without_husks(&wanted["state"]), &got["state"])?;
    same(
        "workspace_states",
        &without_husks_of_all(&wanted["workspace_states"]),
        &got["workspace_states"],
    )?;
    same("world", &wanted["world"], &got["world"])
}

/// A failed run of Terraform leaves resources without any instance in state, until the next that succeeds. They say nothing,
/// and a state that holds nothing must be seen to be empty, so there are none in ours.
fn without_husks(state: &Json) -> Json {
    let mut state = state.clone();
    if let Some(resources) = state.get_mut("resources").and_then(Json::as_array_mut) {
        resources.retain(|resource| resource["instances"] != json!([]));
    }
    state
}

fn without_husks_of_all(states: &Json) -> Json {
    let Json::Object(states) = states else {
        return states.clone();
    };
    let states = states
        .iter()
        .map(|(name, state)| (name.clone(), without_husks(state)));
    Json::Object(states.collect())
}

/// What tells most about a phase that ran where none should have.
fn brief(phase: &Json) -> String {
    json!({ "exit": phase["exit"], "diagnostics": phase["diagnostics"] }).to_string()
}

fn compare_phase(phase: &str, wanted: &Json, got: &Json) -> Result<(), Miss> {
    diagnostics(phase, &wanted["diagnostics"], &got["diagnostics"])?;
    same(&format!("{phase}.exit"), &wanted["exit"], &got["exit"])?;
    if !wanted["show_error"].is_null() {
        // Terraform could not show the plan it had made, so there is nothing to hold ours against.
        return Ok(());
    }
    for name in [
        "resource_changes",
        "resource_drift",
        "output_changes",
        "checks",
        "applyable",
        "complete",
        "errored",
    ] {
        same(&format!("{phase}.{name}"), &wanted[name], &got[name])?;
    }
    for name in ["action_invocations", "deferred_changes", "outputs", "exec_log"] {
        same(&format!("{phase}.{name}"), &wanted[name], &got[name])?;
    }
    let generated = [&wanted["generated_config"], &got["generated_config"]].map(uncommented);
    same(&format!("{phase}.generated_config"), &generated[0], &generated[1])?;
    let failed = got["exit"] != 0;
    same(
        &format!("{phase}.ops"),
        &compared(&wanted["ops"], failed),
        &compared(&got["ops"], failed),
    )?;
    all_closed(phase, &got["ops"])?;
    if phase == "apply" {
        let before = got["before"].as_array().map_or(&[][..], Vec::as_slice);
        for pair in wanted["order"].as_array().into_iter().flatten() {
            if !before.contains(pair) {
                return Err(Miss::new(
                    format!("{} before {}", pair[0], pair[1]),
                    "not so".to_owned(),
                ));
            }
        }
    }
    Ok(())
}

/// The calls that must be equal. Where a walk of Terraform's fails, it leaves open what it has opened, which is nothing to
/// imitate.
fn compared(ops: &Json, failed: bool) -> Json {
    let mut found: Vec<Json> = calls(ops)
        .filter(|call| is_compared(call) && !(failed && word(call) == "close"))
        .cloned()
        .collect();
    found.sort_by_cached_key(Json::to_string);
    found.into()
}

fn calls(ops: &Json) -> impl Iterator<Item = &Json> {
    ops.as_array().into_iter().flatten()
}

fn word(call: &Json) -> &str {
    let label = call["call"].as_str().unwrap_or_default();
    label.split(' ').next().unwrap_or_default()
}

/// Whatever was opened is closed once.
fn all_closed(phase: &str, ops: &Json) -> Result<(), Miss> {
    let count = |of: &dyn Fn(&Json) -> bool| -> u64 {
        let found = calls(ops).filter(|call| of(call));
        found.map(|call| call["times"].as_u64().unwrap_or(1)).sum()
    };
    let opened = count(&|call| word(call) == "open" && call["result"] == "ok");
    let closed = count(&|call| word(call) == "close");
    if opened == closed {
        return Ok(());
    }
    Err(Miss::new(
        format!("{phase}: as many closed as opened"),
        format!("{phase}: {opened} opened, {closed} closed"),
    ))
}

/// Severity, summary, address and range must be equal; the detail must contain what is recorded. Order does not count.
fn diagnostics(phase: &str, wanted: &Json, got: &Json) -> Result<(), Miss> {
    let shown = || {
        Miss::new(
            format!("{phase}.diagnostics {wanted}"),
            format!("{phase}.diagnostics {got}"),
        )
    };
    let mut left = without_repeats(got);
    // What Terraform's init says around the faults it found is no fault of its own.
    let is_frame = |diag: &&Json| {
        diag["summary"]
            .as_str()
            .is_some_and(|text| text.starts_with("Terraform encountered problems"))
    };
    for want in without_repeats(wanted).into_iter().filter(|diag| !is_frame(diag)) {
        let matches = |have: &&Json| {
            let equal = ["severity", "address"]
                .iter()
                .all(|name| want[*name] == have[*name]);
            let equal = equal && summary(want) == summary(have);
            let equal = equal && *place(want) == have["range"];
            let detail = have["detail"].as_str().unwrap_or_default();
            let holds = |line: &Json| line.as_str().is_none_or(|line| detail.contains(line.trim()));
            let contained = match &want["detail_contains"] {
                Json::Array(lines) => lines.iter().all(holds),
                Json::Null => true,
                line => holds(line),
            };
            equal && contained
        };
        match left.iter().position(matches) {
            Some(at) => drop(left.remove(at)),
            None => return Err(shown()),
        }
    }
    if left.is_empty() { Ok(()) } else { Err(shown()) }
}

/// The diagnostics, uses of what is deprecated once each: Terraform tells of them in its check of the configuration, and again
/// of each instance that it plans, which tells nobody more.
fn without_repeats(diags: &Json) -> Vec<&Json> {
    let mut kept: Vec<&Json> = Vec::new();
    for diag in diags.as_array().into_iter().flatten() {
        if diag["summary"] != "Deprecated value used" || !kept.contains(&diag) {
            kept.push(diag);
        }
    }
    kept
}

/// The summary; of a cycle, which has no beginning, its members in their order.
fn summary(diag: &Json) -> Vec<&str> {
    let text = diag["summary"].as_str().unwrap_or_default();
    match text.strip_prefix("Cycle: ") {
        Some(members) => {
            let mut members: Vec<&str> = members.split(", ").collect();
            members.sort_unstable();
            members.insert(0, "Cycle");
            members
        }
        None => vec![text],
    }
}

/// A range in no file is none: Terraform has one for a provider without a block.
fn place(diag: &Json) -> &Json {
    match &diag["range"] {
        range if range["file"] == "<empty>" => &Json::Null,
        range => range,
    }
}

/// The blocks of generated configuration, which come in any order, without comments, which are their writer's own.
fn uncommented(text: &Json) -> Json {
    let Some(text) = text.as_str() else {
        return Json::Null;
    };
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let whole = lines.join("\n");
    let blocks = whole.split("\n\n").map(str::trim);
    let mut blocks: Vec<&str> = blocks.filter(|block| !block.is_empty()).collect();
    blocks.sort_unstable();
    json!(blocks)
}

fn same(what: &str, wanted: &Json, got: &Json) -> Result<(), Miss> {
    if wanted == got {
        return Ok(());
    }
    let (path, wanted, got) = difference(what.to_owned(), wanted, got);
    Err(Miss::new(format!("{path} = {wanted}"), format!("{path} = {got}")))
}

/// The first place where two values differ.
fn difference<'a>(path: String, wanted: &'a Json, got: &'a Json) -> (String, &'a Json, &'a Json) {
    match (wanted, got) {
        (Json::Object(a), Json::Object(b)) => {
            let names = a.keys().chain(b.keys());
            for name in names {
                let (one, other) = (&wanted[name.as_str()], &got[name.as_str()]);
                if one != other || a.contains_key(name) != b.contains_key(name) {
                    return difference(format!("{path}.{name}"), one, other);
                }
            }
            (path, wanted, got)
        }
        (Json::Array(a), Json::Array(b)) if a.len() == b.len() => {
            match a.iter().zip(b).enumerate().find(|(_, (one, other))| one != other) {
                Some((at, (one, other))) => difference(format!("{path}[{at}]"), one, other),
                None => (path, wanted, got),
            }
        }
        _ => (path, wanted, got),
    }
}
