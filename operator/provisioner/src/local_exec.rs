//! `local-exec`: a program on this machine.
//!
//! Source: Terraform `builtin/provisioners/local-exec`.

use std::ffi::OsString;

use ashlar_port::ProvisionRequest;
use ashlar_provider::{Ending, Fence, Program};
use ashlar_value::Value;

use crate::{
    LocalPrograms, Runner,
    argument::{flag, pairs, text, texts},
    output::Output,
};

impl Runner {
    pub(crate) async fn local_exec(&self, request: &ProvisionRequest<'_>) -> Result<(), String> {
        let mut launch = self.launch.clone();
        match self.rules.programs {
            LocalPrograms::Allowed => {}
            LocalPrograms::Fenced => launch.fence = Fence::Required,
            LocalPrograms::Refused(why) => return Err(why.to_owned()),
        }
        let config = request.config;
        let command = text(config, "command").unwrap_or_default();
        let mut words = texts(config, "interpreter");
        if words.is_empty() {
            words = vec!["/bin/sh".to_owned(), "-c".to_owned()];
        }
        words.push(command.clone());
        let redact = &self.launch.redact;
        let tell = |line: &str| (request.hearer)(&redact(line));
        if flag(config, "quiet") {
            tell("local-exec: Executing: Suppressed by quiet=true");
        } else {
            tell(&format!("Executing: {}", quoted(&words)));
        }
        let program = program(config, words, self);
        let mut output = Output::new(|text| redact(text), request.hearer);
        let ending = program
            .run(&launch, |bytes| output.take(bytes), self.stop_asked())
            .await;
        let printed = output.finish();
        let how = match ending {
            Ok(Ending::Exited(status)) if status.success() => return Ok(()),
            Ok(Ending::Exited(status)) => status.to_string(),
            Ok(Ending::Stopped) => "it was ended because the run was asked to stop".to_owned(),
            Err(error) => format!(
                "it could not be started in {} ({error})",
                program.folder.display()
            ),
        };
        if request.is_secret {
            return Err(format!(
                "The command failed: {how}. It holds a value that is not shown."
            ));
        }
        Err(format!(
            "Running the command '{command}' failed: {how}. Its output: {printed}"
        ))
    }
}

fn program(config: &Value, words: Vec<String>, runner: &Runner) -> Program {
    let mut words = words.into_iter().map(OsString::from);
    let variables = pairs(config, "environment").into_iter();
    Program {
        binary: words.next().unwrap_or_default(),
        arguments: words.collect(),
        folder: match text(config, "working_dir") {
            Some(folder) => runner.folder.join(folder),
            None => runner.folder.clone(),
        },
        variables: variables
            .map(|(name, value)| (name.into(), value.into()))
            .collect(),
    }
}

/// The words of a command line, each in quotes.
fn quoted(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    format!("[{}]", words.join(" "))
}
