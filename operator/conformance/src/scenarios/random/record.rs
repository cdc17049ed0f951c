//! Writes a case down as a scenario, in the form that the recorder of scenarios gives them.

use std::{fmt::Write as _, path::Path};

use serde_json::{Map, Value as Json};

/// Keys that come first, since they tell most.
const FIRST: [&str; 13] = [
    "scenario", "steps", "name", "action", "exit", "address", "summary", "init", "validate", "command",
    "plan", "apply", "state",
];

/// Writes `scenario.yaml`.
pub(super) fn write_scenario(folder: &Path, title: &str, steps: &[Json]) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder)?;
    Ok(std::fs::write(folder.join("scenario.yaml"), yaml(title, steps))?)
}

/// Writes `expected.json`: what was done in each step, but for what only the comparison needs.
pub(super) fn write_expected(folder: &Path, title: &str, mut expected: Vec<Json>) -> anyhow::Result<()> {
    let phases = expected.iter_mut().filter_map(Json::as_object_mut);
    for phase in phases.flat_map(Map::values_mut).filter_map(Json::as_object_mut) {
        phase.remove("before");
    }
    let body = serde_json::json!({ "scenario": title, "steps": expected });
    Ok(std::fs::write(
        folder.join("expected.json"),
        pretty(&body, "") + "\n",
    )?)
}

/// A scenario; values that are no text are written as JSON, which YAML takes.
fn yaml(title: &str, steps: &[Json]) -> String {
    let mut out = format!("title: {}\nsteps:\n", Json::from(title));
    for step in steps {
        // Writing to a text cannot fail.
        let _ = writeln!(out, "- name: {}", step["name"]);
        if let Some(files) = step["files"].as_object() {
            out.push_str("  files:\n");
            for (name, text) in files {
                match text.as_str() {
                    None => drop(writeln!(out, "    {name}: null")),
                    Some("") => drop(writeln!(out, "    {name}: \"\"")),
                    Some(text) => {
                        let _ = writeln!(out, "    {name}: |");
                        for line in text.lines() {
                            let _ = writeln!(out, "      {line}");
                        }
                    }
                }
            }
        }
        if let Some(edits) = step["world"].as_array() {
            out.push_str("  world:\n");
            for edit in edits {
                let _ = writeln!(out, "  - {edit}");
            }
        }
        if step["vars"].is_object() {
            let _ = writeln!(out, "  vars: {}", step["vars"]);
        }
        let _ = writeln!(out, "  action: {}", step["action"].as_str().unwrap_or_default());
        if step["options"].is_object() {
            let _ = writeln!(out, "  options: {}", step["options"]);
        }
        if let Some(phase) = step["expect"].as_str() {
            let _ = writeln!(out, "  expect: {phase}");
        }
    }
    out
}

/// JSON with what fits on a line on one line.
fn pretty(value: &Json, indent: &str) -> String {
    let line = flat(value);
    let is_leaf = match value {
        Json::Object(fields) => fields.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_leaf || line.chars().count() + indent.len() <= 110 {
        return line;
    }
    let inner = format!("{indent}  ");
    let (open, lines, close): (_, Vec<String>, _) = match value {
        Json::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort_by_key(|name| {
                let rank = FIRST.iter().position(|first| first == name);
                (rank.unwrap_or(FIRST.len()), (*name).clone())
            });
            let line = |name: &&String| {
                let field = pretty(&fields[name.as_str()], &inner);
                format!("{inner}{}: {field}", Json::from(name.as_str()))
            };
            ('{', names.iter().map(line).collect(), '}')
        }
        Json::Array(items) => {
            let line = |item: &Json| format!("{inner}{}", pretty(item, &inner));
            ('[', items.iter().map(line).collect(), ']')
        }
        _ => return line,
    };
    format!("{open}\n{}\n{indent}{close}", lines.join(",\n"))
}

/// JSON on one line, with spaces, keys sorted.
fn flat(value: &Json) -> String {
    match value {
        Json::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            let items: Vec<String> = names
                .iter()
                .map(|name| format!("{}: {}", Json::from(name.as_str()), flat(&fields[name.as_str()])))
                .collect();
            format!("{{{}}}", items.join(", "))
        }
        Json::Array(items) => {
            let items: Vec<String> = items.iter().map(flat).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}
