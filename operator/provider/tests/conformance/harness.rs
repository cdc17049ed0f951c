//! Runs the cases. Understands of the arguments of `cargo test` what names cases, and passes over the rest.

use std::{future::Future, pin::Pin, process::ExitCode, time::Duration};

/// No case takes as long.
const PATIENCE: Duration = Duration::from_secs(300);

/// A named test.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) run: fn() -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The cases of a file, by the names of their functions.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CASES: &[$crate::harness::Case] = &[$($crate::harness::Case {
            name: concat!(module_path!(), "::", stringify!($name)),
            run: || Box::pin($name()),
        }),*];
    };
}
pub(crate) use cases;

/// What of the cases is to be run.
#[derive(Default)]
struct Choice {
    wanted: Vec<String>,
    skipped: Vec<String>,
    exact: bool,
    list: bool,
}

impl Choice {
    fn read(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut choice = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--exact" => choice.exact = true,
                "--list" => choice.list = true,
                "--skip" => choice.skipped.extend(arguments.next()),
                "--test-threads" | "--format" | "--color" | "--logfile" => {
                    arguments.next();
                }
                flag if flag.starts_with('-') => {}
                _ => choice.wanted.push(argument),
            }
        }
        choice
    }

    fn takes(&self, name: &str) -> bool {
        let named = |part: &String| {
            if self.exact {
                name == part
            } else {
                name.contains(part.as_str())
            }
        };
        (self.wanted.is_empty() || self.wanted.iter().any(named)) && !self.skipped.iter().any(named)
    }
}

pub(crate) fn run(groups: &[&[Case]]) -> ExitCode {
    let choice = Choice::read(std::env::args().skip(1));
    let name = |case: &Case| case.name.trim_start_matches("conformance::").to_owned();
    let all = groups.iter().flat_map(|group| group.iter());
    let (chosen, left): (Vec<&Case>, Vec<&Case>) = all.partition(|case| choice.takes(&name(case)));
    if choice.list {
        for case in chosen {
            println!("{}: test", name(case));
        }
        return ExitCode::SUCCESS;
    }
    crate::log::listen();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_all()
        .build()
        .unwrap();
    println!("\nrunning {} tests", chosen.len());
    let mut failed = Vec::new();
    for case in &chosen {
        let task = runtime.spawn((case.run)());
        let end = runtime.block_on(async { tokio::time::timeout(PATIENCE, task).await });
        let fault = match end {
            Ok(Ok(())) => None,
            Ok(Err(_)) => Some("FAILED"),
            Err(_) => Some("FAILED: it took too long"),
        };
        println!("test {} ... {}", name(case), fault.unwrap_or("ok"));
        if fault.is_some() {
            failed.push(name(case));
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    for name in &failed {
        println!("failed: {name}");
    }
    println!(
        "\ntest result: {word}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out\n",
        chosen.len() - failed.len(),
        failed.len(),
        left.len()
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
