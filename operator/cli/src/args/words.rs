//! The words of the command line before they are read: dashes, `-chdir`, and what the environment adds.
//!
//! Source: Terraform `main.go` (`extractChdirOption`, `mergeEnvArgs`).

use std::{ffi::OsString, path::PathBuf};

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
