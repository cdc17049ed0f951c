//! Asking the real program what expressions give.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::Example;

/// An empty folder to run in, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("ashlar-oracle-{}", std::process::id()));
        fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    /// The program, run here, without a user's settings and without looking for newer versions of itself.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.0).env("CHECKPOINT_DISABLE", "1");
        command.env("TF_CLI_CONFIG_FILE", self.0.join("settings"));
        command
            .env("TF_IN_AUTOMATION", "1")
            .env("TF_DATA_DIR", self.0.join("data"));
        command
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left is a few bytes in a temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn folder() -> Result<Folder> {
    let folder = Folder::new()?;
    fs::write(folder.0.join("settings"), "disable_checkpoint = true\n")?;
    Ok(folder)
}

/// The version that the program tells.
pub(super) fn version(program: &Path) -> Result<String> {
    let output = folder()?.command(program).arg("version").arg("-json").output()?;
    let told: Value = serde_json::from_slice(&output.stdout).context("the answer to `version -json`")?;
    Ok(told["terraform_version"].as_str().unwrap_or_default().to_owned())
}

/// What `metadata functions -json` answers.
pub(super) fn functions(program: &Path) -> Result<Value> {
    let output = folder()?
        .command(program)
        .args(["metadata", "functions", "-json"])
        .output()?;
    serde_json::from_slice(&output.stdout).context("the answer to `metadata functions -json`")
}

/// So many examples go into one line of a console, which takes no line of more than 64 KiB.
const AT_ONCE: usize = 300;

/// What each example gives in a console, as JSON, or its fault. One process answers for all; a fault costs one more.
pub(super) fn ask(program: &Path, examples: &[Example]) -> Result<Vec<String>> {
    let folder = folder()?;
    let console = |line: &str| -> Result<Output> {
        let mut command = folder.command(program);
        command.arg("console").env("TF_CLI_ARGS", "-no-color");
        fed(command, format!("{line}\n"))
    };
    let mut told = Vec::with_capacity(examples.len());
    for examples in examples.chunks(AT_ONCE) {
        let tries: Vec<String> = examples
            .iter()
            .map(|(_, example)| format!("nonsensitive(try({example}, null))"))
            .collect();
        let output = console(&format!("jsonencode([{}])", tries.join(", ")))?;
        // A text of JSON, in quotes.
        let answers = serde_json::from_slice::<String>(&output.stdout)
            .and_then(|text| serde_json::from_str::<Vec<Value>>(&text))
            .with_context(|| {
                format!(
                    "the console answered: {}",
                    String::from_utf8_lossy(&output.stderr)
                )
            })?;
        if answers.len() != examples.len() {
            bail!(
                "the console answered {} of {} examples",
                answers.len(),
                examples.len()
            );
        }
        for (answer, (_, example)) in answers.iter().zip(examples) {
            told.push(if answer.is_null() {
                let output = console(example)?;
                let said = [output.stdout, output.stderr].concat();
                let said = String::from_utf8_lossy(&said);
                said.split_whitespace().collect::<Vec<_>>().join(" ")
            } else {
                answer.to_string()
            });
        }
    }
    Ok(told)
}

/// As [`ask`], by a plan with one output for each.
pub(super) fn plan(program: &Path, examples: &[Example]) -> Result<Vec<String>> {
    if examples.is_empty() {
        return Ok(Vec::new());
    }
    let folder = folder()?;
    let outputs = examples.iter().zip(0..);
    let text: String = outputs
        .map(|((_, example), at)| format!("output \"e{at}\" {{\n  value = {example}\n}}\n"))
        .collect();
    fs::write(folder.0.join("main.tf"), text)?;
    let plan = folder
        .command(program)
        .args(["plan", "-input=false", "-out=planned"])
        .output()?;
    if !plan.status.success() {
        bail!("the plan failed: {}", String::from_utf8_lossy(&plan.stderr));
    }
    let shown = folder
        .command(program)
        .args(["show", "-json", "planned"])
        .output()?;
    let shown: Value = serde_json::from_slice(&shown.stdout).context("the answer to `show -json`")?;
    let outputs = &shown["planned_values"]["outputs"];
    Ok((0..examples.len())
        .map(|at| outputs[format!("e{at}")]["value"].to_string())
        .collect())
}

/// Runs a command with a text on its standard input.
fn fed(mut command: Command, text: String) -> Result<Output> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("the program cannot be started")?;
    let mut input = child.stdin.take().context("the program has no standard input")?;
    // It may end before it has read all.
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    Ok(output)
}
