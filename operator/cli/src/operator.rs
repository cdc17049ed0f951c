//! `ashlar run`: the operator of a cluster, until it is told to end.

use std::process::ExitCode;

use ashlar_controller::OperatorArgs;

/// Runs the command.
pub(crate) async fn run(args: OperatorArgs) -> anyhow::Result<ExitCode> {
    ashlar_controller::run(args).await?;
    Ok(ExitCode::SUCCESS)
}
