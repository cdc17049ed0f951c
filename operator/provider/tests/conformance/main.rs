//! The plugin protocol, whole: every call of both generations, and every way that one goes wrong.
//!
//! Healthy behaviour is shown with the test providers built on the SDKs (`kiln`, `kilnv5`); faults come from a plugin
//! made for them (`model`), which is this same program, as is the launcher of both. Hence a harness of its own: it takes
//! the names of cases (`cargo test --test conformance -- NAME`), runs one after the other, and looks after each that no
//! process is left.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "this is a test, and has its own harness"
)]

mod bench;
mod calls;
mod drive;
mod faults;
mod harness;
mod kept;
mod kiln;
mod kilnv5;
mod log;
mod model;
mod remarks;
mod rpcs;
mod sizes;
mod start;

#[path = "../setup/mod.rs"]
mod setup;

#[path = "../../src/codec.rs"]
#[expect(
    dead_code,
    reason = "only the messages are used here; those who call them want it"
)]
mod codec;
#[path = "../../src/proto.rs"]
mod proto;

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == bench::LAUNCH) {
        let error = ashlar_provider::launch::run(arguments);
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    if let Some(script) = model::Script::of_this_process() {
        model::run(script);
    }
    harness::run(&[
        rpcs::CASES,
        calls::CASES,
        kiln::CASES,
        kilnv5::CASES,
        start::CASES,
        faults::CASES,
        remarks::CASES,
        sizes::CASES,
        kept::CASES,
    ])
}
