//! The words of the command line before they are read: dashes, `-chdir`, and what the environment adds.
//!
//! Source: Terraform `main.go` (`extractChdirOption`, `mergeEnvArgs`).

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use clap::{Arg, ArgAction};

use super::shared::truth;

/// Adds words to all commands.
const FOR_ALL: &str = "TF_CLI_ARGS";

/// Commands that have others in them.
const GROUPS: [&str; 3] = ["state", "workspace", "providers"];

/// The words to be read, and the folder to go to first.
pub(crate) struct Words {
    pub(crate) chdir: Option<PathBuf>,
    pub(crate) words: Vec<OsString>,
}

impl Words {
    /// From those that were typed, the program first. `environment` tells the value of a variable.
    pub(crate) fn of(
        typed: Vec<OsString>,
        environment: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut words = typed;
        let chdir = take_chdir(&mut words)?;
        if let Some((at, name)) = command(&words) {
            let own = format!("{FOR_ALL}_{}", name.replace([' ', '-'], "_"));
            let mut more = Vec::new();
            for variable in [own.as_str(), FOR_ALL] {
                let Some(text) = environment(variable) else {
                    continue;
                };
                let found = split(&text).ok_or_else(|| {
                    format!("The words in {variable} cannot be told apart: a quote in it is not closed.")
                })?;
                more.extend(found.into_iter().map(OsString::from));
            }
            words.splice(at..at, more);
        }
        Ok(Self {
            chdir,
            words: with_two_dashes(words),
        })
    }
}

/// The words with flags settled as Go reads them: `--json=true` is `--json`, `--json=false` is as if nothing had been said, and of
/// several the last one counts. `cli` knows which flags each command has.
pub(crate) fn with_settled_flags(words: Vec<OsString>, cli: &clap::Command) -> Result<Vec<OsString>, String> {
    let mut command = cli;
    let mut of_all: Vec<&Arg> = Vec::new();
    let mut places = BTreeMap::new();
    let mut last = BTreeMap::new();
    for (at, word) in words.iter().enumerate().skip(1) {
        let Some(text) = word.to_str() else { continue };
        if text == "--" {
            break;
        }
        let Some(flag) = text.strip_prefix("--") else {
            if let Some(inner) = command.find_subcommand(text) {
                of_all.extend(command.get_arguments().filter(|own| own.is_global_set()));
                command = inner;
            }
            continue;
        };
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (flag, None),
        };
        // The environment would have the last word where leaving a flag out says that it is false.
        let is_it = |own: &Arg| {
            let is_flag = matches!(own.get_action(), ArgAction::SetTrue) && own.get_env().is_none();
            is_flag && own.get_long() == Some(name)
        };
        if !command.get_arguments().chain(of_all.iter().copied()).any(is_it) {
            continue;
        }
        let is_set = value
            .map_or(Ok(true), truth)
            .map_err(|why| format!("{text} cannot be understood: {why}."))?;
        places.insert(at, name.to_owned());
        last.insert(name.to_owned(), (at, is_set));
    }
    let settle = |(at, word): (usize, OsString)| match places.get(&at) {
        None => Some(word),
        Some(name) => (last.get(name) == Some(&(at, true))).then(|| format!("--{name}").into()),
    };
    Ok(words.into_iter().enumerate().filter_map(settle).collect())
}

/// Takes `-chdir=DIR` out of what stands before the command.
fn take_chdir(words: &mut Vec<OsString>) -> Result<Option<PathBuf>, String> {
    let mut found = None;
    let before = words.iter().enumerate().skip(1);
    for (at, word) in before.take_while(|(_, word)| word.to_string_lossy().starts_with('-')) {
        let text = word.to_string_lossy();
        let name = text.trim_start_matches('-');
        if matches!(name, "chdir" | "chdir=") {
            return Err("-chdir wants a folder behind an equals sign: -chdir=DIR.".to_owned());
        }
        if let Some(folder) = name.strip_prefix("chdir=") {
            found = Some((at, PathBuf::from(folder)));
        }
    }
    Ok(found.map(|(at, folder)| {
        words.remove(at);
        folder
    }))
}

/// Where the words of the command end, and its name.
fn command(words: &[OsString]) -> Option<(usize, String)> {
    let is_word = |at: &usize| {
        !words
            .get(*at)
            .is_some_and(|word| word.to_string_lossy().starts_with('-'))
    };
    let at = (1..words.len()).find(is_word)?;
    let name = words.get(at)?.to_str()?;
    let inner = words.get(at + 1).and_then(|word| word.to_str());
    match inner.filter(|inner| GROUPS.contains(&name) && !inner.starts_with('-')) {
        Some(inner) => Some((at + 2, format!("{name} {inner}"))),
        None => Some((at + 1, name.to_owned())),
    }
}

/// Splits a text as a shell does: at spaces, but for those in quotes and behind a backslash. Nothing if a quote is not closed.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(next) = rest.next() {
        match (quote, next) {
            (Some(end), _) if next == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(next);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(rest.next()),
            (None, _) if next.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(next),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// The words with a second dash where Terraform's users leave it out: `-json` is `--json`. Single letters stay.
fn with_two_dashes(words: Vec<OsString>) -> Vec<OsString> {
    let two = |word: OsString| match word.to_str().and_then(|text| text.strip_prefix('-')) {
        Some(name) if name.len() > 1 && name.starts_with(|first: char| first.is_ascii_alphabetic()) => {
            format!("--{name}").into()
        }
        _ => word,
    };
    words.into_iter().map(two).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(typed: &str, environment: &[(&str, &str)]) -> Result<(Option<PathBuf>, String), String> {
        let typed = typed.split_whitespace().map(OsString::from).collect();
        let value = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let Words { chdir, words } = Words::of(typed, value)?;
        let words: Vec<String> = words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        Ok((chdir, words.join("|")))
    }

    #[test]
    fn the_environment_adds_words_behind_the_command() {
        let check = |typed: &str, environment: &[(&str, &str)], want: &str| {
            assert_eq!(words(typed, environment).unwrap(), (None, want.to_owned()));
        };
        let all = ("TF_CLI_ARGS", "-no-color");
        check("ashlar plan -json", &[all], "ashlar|plan|--no-color|--json");
        check(
            "ashlar -no-color plan x",
            &[("TF_CLI_ARGS_plan", "-var 'a=b c'")],
            "ashlar|--no-color|plan|--var|a=b c|x",
        );
        let own = ("TF_CLI_ARGS_state_replace_provider", "-auto-approve");
        check(
            "ashlar state replace-provider a b",
            &[all, own],
            "ashlar|state|replace-provider|--auto-approve|--no-color|a|b",
        );
        check("ashlar apply", &[("TF_CLI_ARGS_plan", "-json")], "ashlar|apply");
        check("ashlar", &[all], "ashlar");
        check(
            "ashlar plan",
            &[("TF_CLI_ARGS", r#"a\ b "c \"d" '' e"f"g"#)],
            r#"ashlar|plan|a b|c "d||efg"#,
        );
        assert!(
            words("ashlar plan", &[("TF_CLI_ARGS", "'a")])
                .unwrap_err()
                .contains("TF_CLI_ARGS")
        );
    }

    #[test]
    fn flags_are_settled_as_go_reads_them() {
        use clap::CommandFactory;
        let cli = crate::args::Cli::command();
        let settled = |typed: &str| {
            let words = words(&format!("ashlar {typed}"), &[]).unwrap().1;
            let words = words.split('|').map(OsString::from).collect();
            with_settled_flags(words, &cli).map(|words| {
                let words: Vec<String> = words
                    .iter()
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect();
                words[1..].join(" ")
            })
        };
        let check = |typed: &str, want: &str| assert_eq!(settled(typed).unwrap(), want, "{typed}");
        check("plan -refresh-only=true -json=1", "plan --refresh-only --json");
        check("apply -auto-approve=true x", "apply --auto-approve x");
        check("plan -compact-warnings=false -json=F x", "plan x");
        check("-no-color=true plan -no-color", "plan --no-color");
        check(
            "plan -json=false -json -destroy -json=true",
            "plan --destroy --json",
        );
        check("plan -json -json=false", "plan");
        check("state mv -dry-run=true a b", "state mv --dry-run a b");
        check("providers lock -no-color=false", "providers lock");
        // What is no flag of the command is its own to judge.
        check("plan -dry-run=true", "plan --dry-run=true");
        check(
            "plan -refresh=false -var=a=true",
            "plan --refresh=false --var=a=true",
        );
        check("import a.b -- --json=true", "import a.b -- --json=true");
        check("init -upgrade=true", "init --upgrade=true");
        assert!(
            settled("plan -json=maybe")
                .unwrap_err()
                .starts_with("--json=maybe cannot")
        );
    }

    #[test]
    fn the_folder_to_go_to_stands_before_the_command() {
        let check = |typed: &str, folder: Option<&str>, want: &str| {
            let found = words(typed, &[]).unwrap();
            assert_eq!(found, (folder.map(PathBuf::from), want.to_owned()), "{typed}");
        };
        check("ashlar -chdir=a/b plan", Some("a/b"), "ashlar|plan");
        check(
            "ashlar --no-color --chdir=x plan",
            Some("x"),
            "ashlar|--no-color|plan",
        );
        check("ashlar plan -chdir=x", None, "ashlar|plan|--chdir=x");
        assert!(words("ashlar -chdir x plan", &[]).is_err());
        assert!(words("ashlar -chdir= plan", &[]).is_err());
    }
}
