//! `cargo xtask tidy`: rules of the house that no compiler or linter knows.
//!
//! Rings of crates, sizes and heads of files, lints of members, and no folder of anybody's machine in a tracked file.
//! Each rule is a function from what was read to complaints; exceptions stand in `tidy.allow`, with their reasons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail};
use ashlar_xtask::{layout, process};
use serde::Deserialize;

use crate::cargo::cargo;

/// Check the house rules.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// From the inside out: a crate may depend only on its own ring and those before it.
const RINGS: [&str; 5] = ["words", "language", "engine", "shell", "tools"];
/// The rings that do no IO of their own.
const PURE: [&str; 3] = ["words", "language", "engine"];
/// Crates, by name or by the part before a hyphen, that bring IO or a runtime.
const BARRED: [&str; 5] = ["tokio", "tonic", "kube", "k8s", "reqwest"];
const MOST_LINES: usize = 700;
const ALLOW: &str = "operator/xtask/tidy.allow";
/// Recorded behaviour of another program: what it printed, it printed.
const RECORDED: &str = "tests/oracle/";

pub(crate) fn run(Args {}: &Args) -> Result<()> {
    check()
}

/// Fails with all complaints, one a line.
pub(crate) fn check() -> Result<()> {
    let members = members()?;
    let files = files()?;
    let mut complaints = rings(&members);
    complaints.extend(
        members
            .iter()
            .filter(|member| !inherits_lints(&member.manifest))
            .map(|member| format!("{}: its manifest lacks `[lints] workspace = true`", member.name)),
    );
    complaints.extend(heads(&files));
    let allowed = allowances(&fs::read_to_string(layout::root().join(ALLOW))?)?;
    complaints.extend(excepted("size", sizes(&files), &allowed));
    complaints.extend(excepted("path", machine_paths(&files), &allowed));
    if !complaints.is_empty() {
        bail!("the tree is not tidy:\n{}", complaints.join("\n"));
    }
    Ok(())
}

/// A member crate.
struct Member {
    name: String,
    ring: Option<String>,
    /// Text of its Cargo.toml.
    manifest: String,
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    name: String,
    /// `None` for a normal dependency, else `dev` or `build`.
    kind: Option<String>,
}

fn members() -> Result<Vec<Member>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        manifest_path: String,
        metadata: Option<serde_json::Value>,
        dependencies: Vec<Dependency>,
    }
    let text = process::output(&mut cargo("metadata --format-version 1 --no-deps --offline"))?;
    let read = |package: Package| -> Result<Member> {
        let ring = package
            .metadata
            .as_ref()
            .and_then(|data| data.get("ring")?.as_str().map(str::to_string));
        let manifest = fs::read_to_string(&package.manifest_path)?;
        Ok(Member {
            name: package.name,
            ring,
            manifest,
            dependencies: package.dependencies,
        })
    };
    let metadata: Metadata = serde_json::from_str(&text).context("cargo metadata")?;
    metadata.packages.into_iter().map(read).collect()
}

fn rings(members: &[Member]) -> Vec<String> {
    let rank = |ring: &str| RINGS.iter().position(|known| *known == ring);
    let ranks: BTreeMap<&str, usize> = members
        .iter()
        .filter_map(|member| Some((member.name.as_str(), rank(member.ring.as_deref()?)?)))
        .collect();
    let mut complaints = Vec::new();
    for member in members {
        let Some(own) = ranks.get(member.name.as_str()) else {
            complaints.push(format!(
                "{}: package.metadata.ring must be one of {}",
                member.name,
                RINGS.join(", ")
            ));
            continue;
        };
        for dependency in &member.dependencies {
            let name = &dependency.name;
            let outer = ranks.get(name.as_str()).is_some_and(|ring| ring > own);
            if outer && dependency.kind.is_none() {
                complaints.push(format!(
                    "{} ({}) depends on {name}, which is further out",
                    member.name, RINGS[*own]
                ));
            }
            let family = name.split('-').next().unwrap_or(name);
            if PURE.contains(&RINGS[*own]) && BARRED.contains(&family) {
                complaints.push(format!(
                    "{} ({}) is pure, yet names {name}",
                    member.name, RINGS[*own]
                ));
            }
        }
    }
    complaints
}

fn inherits_lints(manifest: &str) -> bool {
    let table = manifest
        .lines()
        .skip_while(|line| line.trim() != "[lints]")
        .skip(1);
    table
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.trim() == "workspace = true")
}

/// Text files of the tree, by path from its root: tracked ones and new ones, not what is ignored.
fn files() -> Result<BTreeMap<String, String>> {
    let git = process::need("git", "list the files of the tree")?;
    let mut list = Command::new(git);
    list.current_dir(layout::root())
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let paths = process::output(&mut list)?;
    let read = |path: &str| {
        // A file that was removed but not yet staged, or that is no text, has nothing to say.
        let text = fs::read_to_string(layout::root().join(path)).ok()?;
        Some((path.to_string(), text))
    };
    Ok(paths
        .split('\0')
        .filter(|path| !path.starts_with(RECORDED))
        .filter_map(read)
        .collect())
}

/// Whether a Rust file holds only tests.
fn is_tests(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some("tests.rs") || parts.any(|folder| folder == "tests")
}

fn rust(files: &BTreeMap<String, String>) -> impl Iterator<Item = (&String, &String)> {
    files
        .iter()
        .filter(|(path, _)| path.ends_with(".rs") && !is_tests(path))
}

fn heads(files: &BTreeMap<String, String>) -> Vec<String> {
    let headless = rust(files).filter(|(_, text)| !text.starts_with("//!"));
    headless
        .map(|(path, _)| format!("{path}: a file opens with `//!`: what it is, and what it must never do"))
        .collect()
}

/// Complaints by path.
type Found = BTreeMap<String, String>;

fn sizes(files: &BTreeMap<String, String>) -> Found {
    let lines = |text: &str| text.lines().take_while(|line| *line != "mod tests {").count();
    rust(files)
        .map(|(path, text)| (path, lines(text)))
        .filter(|(_, lines)| *lines > MOST_LINES)
        .map(|(path, lines)| {
            (
                path.clone(),
                format!("{lines} lines without tests, {MOST_LINES} are the limit"),
            )
        })
        .collect()
}

fn machine_paths(files: &BTreeMap<String, String>) -> Found {
    // Put together here, so that this file does not complain about itself.
    let folders = ["root", "work", "home"].map(|name| format!("/{name}/"));
    let mut found = Found::new();
    for (path, text) in files {
        for (line, content) in text.lines().enumerate() {
            for folder in &folders {
                let absolute = |at: usize| {
                    let before = content[..at].chars().next_back();
                    !before.is_some_and(|before| before.is_alphanumeric() || "_-./}*".contains(before))
                };
                if content.match_indices(folder.as_str()).any(|(at, _)| absolute(at)) {
                    found
                        .entry(path.clone())
                        .or_insert_with(|| format!("line {} names {folder}", line + 1));
                }
            }
        }
    }
    found
}

/// The exceptions, as rule and path.
fn allowances(text: &str) -> Result<BTreeSet<(String, String)>> {
    let lines = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
    let read = |line: &str| match line.split_whitespace().collect::<Vec<_>>().as_slice() {
        [rule @ ("size" | "path"), path, _reason, ..] => Ok((rule.to_string(), path.to_string())),
        _ => bail!("{ALLOW}: not RULE PATH REASON: {line}"),
    };
    lines.map(read).collect()
}

/// What was found less what is allowed, and what is allowed without need.
fn excepted(rule: &str, found: Found, allowed: &BTreeSet<(String, String)>) -> Vec<String> {
    let is_allowed = |path: &String| allowed.contains(&(rule.to_string(), path.clone()));
    let needless = allowed
        .iter()
        .filter(|(of, path)| of == rule && !found.contains_key(path));
    let needless = needless.map(|(_, path)| format!("{ALLOW}: {rule} {path} is not needed"));
    let left = found.iter().filter(|(path, _)| !is_allowed(path));
    left.map(|(path, what)| format!("{path}: {what}"))
        .chain(needless)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        if let Err(error) = check() {
            panic!("{error:#}");
        }
    }

    fn tree(files: &[(&str, String)]) -> BTreeMap<String, String> {
        files
            .iter()
            .map(|(path, text)| (path.to_string(), text.clone()))
            .collect()
    }

    #[test]
    fn no_crate_depends_outward_and_pure_ones_name_no_runtime() {
        let member = |name: &str, ring: &str, dependencies: &[(&str, Option<&str>)]| Member {
            name: name.into(),
            ring: Some(ring.into()),
            manifest: String::new(),
            dependencies: dependencies
                .iter()
                .map(|(name, kind)| Dependency {
                    name: name.to_string(),
                    kind: kind.map(str::to_string),
                })
                .collect(),
        };
        let members = [
            member("value", "words", &[("plan", None), ("indexmap", None)]),
            member(
                "plan",
                "engine",
                &[("value", None), ("testkit", Some("dev")), ("tokio-util", None)],
            ),
            member("store", "shell", &[("plan", None), ("kube", None)]),
            member("testkit", "tools", &[]),
            member("lost", "middle", &[]),
        ];
        assert_eq!(
            rings(&members),
            [
                "value (words) depends on plan, which is further out",
                "plan (engine) is pure, yet names tokio-util",
                "lost: package.metadata.ring must be one of words, language, engine, shell, tools",
            ]
        );
    }

    #[test]
    fn lints_are_inherited_in_their_own_table() {
        assert!(inherits_lints(
            "[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"
        ));
        assert!(!inherits_lints("[lints]\n[dependencies]\nworkspace = true\n"));
        assert!(!inherits_lints("[package]\nedition.workspace = true\n"));
    }

    #[test]
    fn files_are_small_and_open_with_their_purpose() {
        let long = |before: usize, after: usize| {
            format!(
                "//! x\n{}#[cfg(test)]\nmod tests {{\n{}}}\n",
                "\n".repeat(before),
                "\n".repeat(after)
            )
        };
        let files = tree(&[
            ("a/long.rs", long(700, 0)),
            ("a/tested.rs", long(600, 300)),
            ("a/tests.rs", "\n".repeat(900)),
            ("a/tests/case.rs", "\n".repeat(900)),
            ("a/bare.rs", "fn f() {}\n".into()),
            ("a/words.txt", "\n".repeat(900)),
        ]);
        assert_eq!(sizes(&files).into_keys().collect::<Vec<_>>(), ["a/long.rs"]);
        let complaints = heads(&files);
        assert!(
            complaints.len() == 1 && complaints[0].starts_with("a/bare.rs: "),
            "{complaints:?}"
        );
    }

    #[test]
    fn folders_of_a_machine_are_found_and_names_in_longer_paths_are_not() {
        let check = |text: &str| !machine_paths(&tree(&[("f", text.to_string())])).is_empty();
        let folder = |name: &str| format!("/{name}/");
        for text in [
            format!("cd {}x", folder("work")),
            format!("\"{}.cache\"", folder("root")),
        ] {
            assert!(check(&text), "{text}");
        }
        for text in [
            format!("${{path.root}}{}", folder("work")),
            format!("a{}b", folder("home")),
            "/root".into(),
        ] {
            assert!(!check(&text), "{text}");
        }
    }

    #[test]
    fn an_exception_has_a_reason_and_a_need() {
        let allowed = allowances("# comment\n\nsize a.rs a table of all functions\n").unwrap();
        let found = |paths: &[&str]| {
            paths
                .iter()
                .map(|path| (path.to_string(), "800 lines".into()))
                .collect()
        };
        assert_eq!(
            excepted("size", found(&["a.rs", "b.rs"]), &allowed),
            ["b.rs: 800 lines"]
        );
        assert_eq!(
            excepted("size", found(&[]), &allowed),
            [format!("{ALLOW}: size a.rs is not needed")]
        );
        assert!(excepted("path", found(&[]), &allowed).is_empty());
        for line in ["size a.rs", "length a.rs because"] {
            assert!(allowances(line).is_err(), "{line}");
        }
    }
}
