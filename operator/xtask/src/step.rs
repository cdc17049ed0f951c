//! Steps of a longer run: each is run whatever became of the one before, its tests are counted from its output, and
//! a table at the end tells all results.
//!
//! A step that fails makes the run fail, also when its output counts no failed test.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ashlar_xtask::process;

/// Tests that passed and failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// The counts in a line of a test runner's output. Two forms are known: that of `cargo test`, one line per test
    /// binary, and `N passed, N failed`, one line at the very end.
    fn in_line(line: &str) -> Option<Self> {
        let counts = line
            .strip_prefix("test result: ")
            .and_then(|rest| rest.split_once(". "))
            .map_or(line, |(_, c)| c);
        let (passed, rest) = counts.split_once(" passed")?;
        let failed = rest.trim_start_matches([',', ';', ' ']).split_once(" failed")?.0;
        Some(Self {
            passed: passed.parse().ok()?,
            failed: failed.parse().ok()?,
        })
    }
}

/// Work with a name. It answers with its tests, or `None` when it is itself the test.
pub(crate) struct Step {
    name: String,
    work: Box<dyn FnOnce() -> Result<Option<Count>>>,
}

impl Step {
    /// A step made of code.
    pub(crate) fn new(name: &str, work: impl FnOnce() -> Result<Option<Count>> + 'static) -> Self {
        Self {
            name: name.to_string(),
            work: Box::new(work),
        }
    }

    /// A step that is one command, without counted tests.
    pub(crate) fn command(name: &str, command: Command) -> Self {
        Self::new(name, move || stream(command).map(|_| None))
    }

    /// A step that is one command and must count its tests.
    pub(crate) fn tests(name: &str, command: Command) -> Self {
        Self::new(name, move || counted(command).map(Some))
    }
}

/// A run of tests failed after counting some: the step is failed, the counts are kept.
#[derive(Debug)]
struct TestsFailed(Count, String);

impl std::fmt::Display for TestsFailed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.1)
    }
}

impl std::error::Error for TestsFailed {}

/// Runs a test command, passing its output on. No counted test at all is a failure.
pub(crate) fn counted(command: Command) -> Result<Count> {
    let shown = process::show(&command);
    let mut total: Option<Count> = None;
    let success = watch(command, |line| {
        if let Some(count) = Count::in_line(line.trim_end()) {
            let sum = total.get_or_insert_default();
            sum.passed += count.passed;
            sum.failed += count.failed;
        }
    })?;
    match total {
        Some(Count { passed: 0, failed: 0 }) | None if success => bail!("{shown} ran no test"),
        Some(count) if success && count.failed == 0 => Ok(count),
        Some(count) => Err(TestsFailed(count, format!("{shown} failed")).into()),
        None => bail!("{shown} failed"),
    }
}

/// Runs a command, passing its output on.
pub(crate) fn stream(command: Command) -> Result<()> {
    text(command).map(drop)
}

/// As [`stream`], and returns what the command printed.
pub(crate) fn text(command: Command) -> Result<String> {
    let shown = process::show(&command);
    let mut text = String::new();
    let success = watch(command, |line| {
        text += line;
        text.push('\n');
    })?;
    if !success {
        bail!("{shown} failed");
    }
    Ok(text)
}

/// Runs a command, passing each line of its output on, and tells whether it succeeded.
fn watch(mut command: Command, mut seen: impl FnMut(&str)) -> Result<bool> {
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .with_context(|| format!("cannot start {}", process::show(&command)))?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            seen(&line);
        }
    }
    Ok(child.wait()?.success())
}

struct Outcome {
    name: String,
    tests: Option<Count>,
    fault: Option<String>,
    time: Duration,
}

/// Runs all steps, prints the table, and fails when one of them did.
pub(crate) fn run_all(steps: Vec<Step>) -> Result<()> {
    let outcomes: Vec<Outcome> = steps.into_iter().map(run_one).collect();
    let (table, sum) = report(&outcomes);
    print!("{table}");
    let failed = outcomes.iter().filter(|outcome| outcome.fault.is_some()).count();
    if failed > 0 {
        eprintln!("{failed} of {} steps failed", outcomes.len());
    }
    println!("{} passed, {} failed", sum.passed, sum.failed);
    if failed > 0 {
        std::process::exit(1);
    }
    Ok(())
}

fn run_one(step: Step) -> Outcome {
    eprintln!("== {}", step.name);
    let start = Instant::now();
    let (tests, fault) = match (step.work)() {
        Ok(tests) => (tests, None),
        Err(error) => {
            eprintln!("error: {error:#}");
            (
                error.downcast_ref::<TestsFailed>().map(|failed| failed.0),
                Some(format!("{error:#}")),
            )
        }
    };
    Outcome {
        name: step.name,
        tests,
        fault,
        time: start.elapsed(),
    }
}

/// The table, and the sum of all tests. A step that counts none is one test itself.
fn report(outcomes: &[Outcome]) -> (String, Count) {
    let mut table = format!(
        "\n{:<28} {:<7} {:>7} {:>7} {:>9}\n",
        "step", "result", "passed", "failed", "time"
    );
    let mut sum = Count::default();
    for outcome in outcomes {
        let mut tests = outcome.tests.unwrap_or(Count {
            passed: u64::from(outcome.fault.is_none()),
            failed: 0,
        });
        if outcome.fault.is_some() && tests.failed == 0 {
            tests.failed = 1;
        }
        sum.passed += tests.passed;
        sum.failed += tests.failed;
        let result = if outcome.fault.is_some() { "FAILED" } else { "ok" };
        table += &format!(
            "{:<28} {result:<7} {:>7} {:>7} {:>7.1} s\n",
            outcome.name,
            tests.passed,
            tests.failed,
            outcome.time.as_secs_f64()
        );
    }
    for outcome in outcomes {
        if let Some(fault) = &outcome.fault {
            table += &format!(
                "\n{}: {}\n",
                outcome.name,
                fault.lines().next().unwrap_or_default()
            );
        }
    }
    (table, sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_counts_are_read() {
        let check =
            |line, passed, failed| assert_eq!(Count::in_line(line), Some(Count { passed, failed }), "{line}");
        check(
            "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.1s",
            12,
            0,
        );
        check("test result: FAILED. 3 passed; 2 failed; 0 ignored", 3, 2);
        check("4711 passed, 3 failed", 4711, 3);
        check("4711 passed, 3 failed, 5 pending", 4711, 3);
        for line in [
            "running 3 tests",
            "all passed, none failed",
            "x: 1 passed, 2 failed",
            "",
        ] {
            assert_eq!(Count::in_line(line), None, "{line}");
        }
    }

    #[test]
    fn a_step_that_fails_without_a_failed_test_counts_as_one() {
        let outcome = |tests, fault: Option<&str>| Outcome {
            name: "s".into(),
            tests,
            fault: fault.map(str::to_string),
            time: Duration::ZERO,
        };
        let sum = |outcomes: &[Outcome]| report(outcomes).1;
        assert_eq!(sum(&[outcome(None, None)]), Count { passed: 1, failed: 0 });
        assert_eq!(sum(&[outcome(None, Some("x"))]), Count { passed: 0, failed: 1 });
        let (five, two) = (Count { passed: 5, failed: 0 }, Count { passed: 5, failed: 2 });
        assert_eq!(
            sum(&[outcome(Some(five), Some("x"))]),
            Count { passed: 5, failed: 1 }
        );
        assert_eq!(
            sum(&[outcome(Some(two), Some("x")), outcome(Some(five), None)]),
            Count {
                passed: 10,
                failed: 2
            }
        );
    }

    #[test]
    fn a_command_that_counts_nothing_has_not_tested() {
        let run = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            counted(command)
        };
        assert_eq!(
            run("echo '2 passed, 0 failed'").unwrap(),
            Count { passed: 2, failed: 0 }
        );
        for script in ["true", "echo 'test result: ok. 0 passed; 0 failed; 0 ignored'"] {
            assert!(
                run(script).unwrap_err().to_string().ends_with("ran no test"),
                "{script}"
            );
        }
        assert!(run("echo '2 passed, 0 failed'; exit 1").is_err());
        assert!(run("echo '2 passed, 1 failed'").is_err());
    }
}
