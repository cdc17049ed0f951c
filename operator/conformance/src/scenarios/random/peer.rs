//! Real Terraform taking the steps of a scenario, told in the records' form.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
};

use anyhow::Context;
use serde_json::{Value as Json, json};

use crate::scenarios::{
    facts,
    step::{Bench, strings, text_of},
};

/// The program, and the settings by which it finds the providers.
#[derive(Clone)]
pub(in crate::scenarios) struct Peer {
    pub(in crate::scenarios) program: PathBuf,
    pub(in crate::scenarios) settings: PathBuf,
}

/// What a command answered.
struct Told {
    exit: u8,
    events: Vec<Json>,
    text: String,
}

impl Peer {
    /// Runs one step where the bench stands.
    pub(in crate::scenarios) fn run(&self, bench: &Bench, step: &Json, first: bool) -> anyhow::Result<Json> {
        bench.prepare(step)?;
        let planned = bench.work.join("plan.bin");
        if planned.exists() {
            std::fs::remove_file(&planned)?;
        }
        let action = step["action"].as_str().context("a step without action")?;
        let mut out = json!({ "name": step["name"], "action": action });
        if first || step["files"].is_object() {
            let since = bench.marks();
            let told = self.ask(bench, step, &["init", "-json", "-no-color", "-input=false"])?;
            if told.exit != 0 {
                out["init"] = bench.phase_of(told.exit, diagnostics(&told.events), &since)?;
                return finish(bench, out);
            }
        }
        let since = bench.marks();
        let mut words = vec!["plan", "-json", "-no-color", "-input=false", "-out=plan.bin"];
        match action {
            "destroy" => words.push("-destroy"),
            "refresh-only" => words.push("-refresh-only"),
            _ => {}
        }
        let flags = flags(step);
        words.extend(flags.iter().map(String::as_str));
        let told = self.ask(bench, step, &words)?;
        let failed = told.exit != 0;
        out["plan"] = bench.phase_of(told.exit, diagnostics(&told.events), &since)?;
        if planned.exists() {
            let shown = self.ask(bench, step, &["show", "-json", "-no-color", "plan.bin"])?;
            if shown.exit == 0 {
                for (name, value) in facts::plan(&serde_json::from_str(&shown.text)?) {
                    out["plan"][name] = value;
                }
            } else {
                out["plan"]["show_error"] = "it cannot be shown".into();
            }
        }
        if failed || action == "plan" {
            return finish(bench, out);
        }
        let since = bench.marks();
        let told = self.ask(
            bench,
            step,
            &["apply", "-json", "-no-color", "-input=false", "plan.bin"],
        )?;
        out["apply"] = bench.phase_of(told.exit, diagnostics(&told.events), &since)?;
        let outputs = told.events.iter().find(|event| event["type"] == "outputs");
        if let Some(outputs) = outputs.map(|event| &event["outputs"])
            && outputs.as_object().is_some_and(|outputs| !outputs.is_empty())
        {
            out["apply"]["outputs"] = outputs.clone();
        }
        finish(bench, out)
    }

    /// Runs a command line that tells what it does in JSON.
    fn ask(&self, bench: &Bench, step: &Json, words: &[&str]) -> anyhow::Result<Told> {
        let done = self.command(bench, step, words).output();
        let done = done.with_context(|| format!("running {}", self.program.display()))?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let events: Vec<Json> = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let exit = done.status.code().context("it was killed")?;
        let exit = u8::try_from(exit).context("an exit of no program")?;
        if exit != 0 && !events.iter().any(|event| event["type"] == "diagnostic") {
            anyhow::bail!(
                "{} {} failed: {}",
                self.program.display(),
                words.join(" "),
                String::from_utf8_lossy(&done.stderr)
            );
        }
        Ok(Told { exit, events, text })
    }

    /// The program, ready to run where the bench stands.
    pub(in crate::scenarios) fn command(&self, bench: &Bench, step: &Json, words: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(words)
            .current_dir(&bench.work)
            .envs(bench.environment(step))
            .env("TF_CLI_CONFIG_FILE", &self.settings)
            .env("CHECKPOINT_DISABLE", "1")
            .env("TF_IN_AUTOMATION", "1")
            .stdin(Stdio::null());
        command
    }
}

fn finish(bench: &Bench, out: Json) -> anyhow::Result<Json> {
    bench.finish(out)?.map_err(anyhow::Error::msg)
}

/// What a plan of the step is told on the command line.
pub(in crate::scenarios) fn flags(step: &Json) -> Vec<String> {
    let mut flags = variables(&step["vars"]);
    let options = &step["options"];
    for name in strings(&step["var_files"]) {
        flags.push(format!("-var-file={name}"));
    }
    for name in ["replace", "target", "exclude", "invoke"] {
        for value in strings(&options[name]) {
            flags.push(format!("-{name}={value}"));
        }
    }
    if options["refresh"] == false {
        flags.push("-refresh=false".to_owned());
    }
    if let Some(limit) = options["parallelism"].as_u64() {
        flags.push(format!("-parallelism={limit}"));
    }
    if let Some(file) = options["generate_config_out"].as_str() {
        flags.push(format!("-generate-config-out={file}"));
    }
    flags
}

/// Values of variables as they are given on the command line.
pub(in crate::scenarios) fn variables(given: &Json) -> Vec<String> {
    let given = given.as_object().into_iter().flatten();
    given
        .map(|(name, value)| format!("-var={name}={}", text_of(value)))
        .collect()
}

/// The diagnostics in the records' form. Of a detail only those lines are kept that the configuration or a fault wrote:
/// they all begin with the same word.
fn diagnostics(events: &[Json]) -> Json {
    let mut found: Vec<Json> = events
        .iter()
        .filter(|event| event["type"] == "diagnostic")
        .map(|event| diagnostic(&event["diagnostic"]))
        .collect();
    found.sort_by_cached_key(Json::to_string);
    found.into()
}

fn diagnostic(told: &Json) -> Json {
    let mut out = json!({ "severity": told["severity"], "summary": told["summary"] });
    let detail = told["detail"].as_str().unwrap_or_default();
    let written: Vec<&str> = detail
        .lines()
        .filter(|line| line.trim().starts_with("Because"))
        .collect();
    if !written.is_empty() {
        out["detail_contains"] = written.into();
    }
    if told["address"]
        .as_str()
        .is_some_and(|address| !address.is_empty())
    {
        out["address"] = told["address"].clone();
    }
    if told["range"].is_object() {
        let (start, end) = (&told["range"]["start"], &told["range"]["end"]);
        out["range"] = json!({
            "file": told["range"]["filename"],
            "start": [start["line"], start["column"]],
            "end": [end["line"], end["column"]],
        });
    }
    out
}
