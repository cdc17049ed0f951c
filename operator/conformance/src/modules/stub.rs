//! What stands in for a module that is not at hand: it has the variables that its call gives values to, and takes the
//! provider configurations that are handed over; it has the outputs that its caller uses.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    path::{Path, PathBuf},
};

use anyhow::Context;
use ashlar_addr::{Constraints, Module as ModuleAddr, Version};
use ashlar_config::{
    Files, FoundModule, Library, Module, ModuleCall, ModuleRequest, Tree, source::ModuleSource,
};
use ashlar_diag::{Diag, Diags};
use ashlar_runner::{Folders, read_folder};
use ashlar_value::Dialect;
use regex::Regex;

const FILE: &str = "main.tf";

/// Modules that are not at hand, by path.
pub(crate) struct Stubs {
    local: Folders,
    /// Where they are written.
    data: PathBuf,
    found: BTreeMap<ModuleAddr, Stub>,
    /// Where the others were found, with their source.
    pub(crate) folders: BTreeMap<ModuleAddr, (String, String)>,
}

/// One of them.
pub(crate) struct Stub {
    /// As Terraform writes it down.
    pub(crate) source: String,
    /// A version that will do, where one is asked for.
    pub(crate) version: Option<String>,
    /// Where it is; nowhere before it is made.
    pub(crate) folder: Option<PathBuf>,
}

impl Stubs {
    pub(crate) fn new(root: &Path, data: &Path) -> Self {
        Self {
            local: Folders {
                root: root.to_owned(),
                dialect: Dialect::Terraform,
                confines: None,
                packages: None,
            },
            data: data.to_owned(),
            found: BTreeMap::new(),
            folders: BTreeMap::new(),
        }
    }

    /// How many stand in for something.
    pub(crate) fn used(&self) -> usize {
        self.found.values().filter(|stub| stub.folder.is_some()).count()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ModuleAddr, &Stub)> {
        self.found.iter()
    }

    /// Writes what is missing; was there anything?
    pub(crate) fn make(&mut self, tree: &Tree) -> anyhow::Result<bool> {
        let mut made = false;
        for (at, (path, stub)) in self.found.iter_mut().enumerate() {
            if stub.folder.is_some() {
                continue;
            }
            // Without its caller it cannot be called.
            let Some((parent, call)) = tree.call(path) else {
                continue;
            };
            let Some(caller) = tree.members.get(&parent) else {
                continue;
            };
            let folder = self.data.join(format!("stub-{at}-{}", path.0.join("-")));
            std::fs::create_dir_all(&folder)?;
            let around = read_folder(&self.local.root.join(&*caller.folder), "", Dialect::Terraform)?;
            let name = path.0.last().map_or("", |name| &**name);
            let text = text(call, &caller.module) + &outputs(name, &around)?;
            std::fs::write(folder.join(FILE), text)
                .with_context(|| format!("writing {}", folder.display()))?;
            stub.folder = Some(folder);
            made = true;
        }
        Ok(made)
    }
}

impl Library for Stubs {
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        if let ModuleSource::Local(_) = request.source {
            let found = self.local.find(request)?;
            let place = (request.source.to_string(), found.folder.to_string());
            self.folders.insert(request.path.clone(), place);
            return Ok(found);
        }
        let none = || Diag::error("Module not installed", "It is to be stood in for.").at(request.span);
        let stub = self.found.entry(request.path.clone()).or_insert_with(|| Stub {
            source: request.source.to_string(),
            version: fitting(request.version),
            folder: None,
        });
        let folder = stub.folder.as_ref().ok_or_else(none)?;
        let shown = folder.display().to_string();
        let files = read_folder(folder, &shown, Dialect::Terraform).map_err(|_| none())?;
        Ok(FoundModule {
            folder: shown.into(),
            files,
        })
    }
}

/// A version that the conditions allow, found among those that they name and the next ones.
fn fitting(asked: &Constraints) -> Option<String> {
    let text = asked.to_string();
    let named = text.split(|c: char| !(c.is_ascii_alphanumeric() || ".-+".contains(c)));
    let mut candidates: Vec<String> = vec!["0.0.1".to_owned(), "1.0.0".to_owned()];
    for named in named.filter(|named| named.starts_with(|c: char| c.is_ascii_digit())) {
        let mut numbers: Vec<u64> = named.split('.').filter_map(|part| part.parse().ok()).collect();
        numbers.resize(3, 0);
        candidates.push(named.to_owned());
        candidates.push(format!("{}.{}.{}", numbers[0], numbers[1], numbers[2]));
        candidates.push(format!("{}.{}.{}", numbers[0], numbers[1], numbers[2] + 1));
    }
    let fits = |text: &&String| text.parse::<Version>().is_ok_and(|version| asked.allow(&version));
    candidates
        .iter()
        .rev()
        .find(fits)
        .filter(|_| !asked.is_empty())
        .cloned()
}

/// The whole module.
fn text(call: &ModuleCall, caller: &Module) -> String {
    let mut out = String::new();
    let read = call.body.as_read();
    for attribute in &read.attributes {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "variable {:?} {{}}", attribute.name.name);
    }
    let mut handed: BTreeMap<&str, (String, Vec<String>)> = BTreeMap::new();
    for passed in &call.providers {
        let (child, parent) = (&passed.child.local, &passed.parent.local);
        let source = caller.source_of(&parent.name).to_string();
        let entry = handed.entry(&child.name).or_insert((source, Vec::new()));
        entry.1.extend(child.alias.is_some().then(|| child.to_string()));
    }
    let _ = writeln!(out, "terraform {{\n  required_providers {{");
    for (name, (source, aliases)) in handed {
        let _ = writeln!(out, "    {name} = {{\n      source = {source:?}");
        let _ = writeln!(
            out,
            "      configuration_aliases = [{}]\n    }}",
            aliases.join(", ")
        );
    }
    out + "  }\n}\n"
}

/// An output for each name that the caller's files seem to take from the module.
fn outputs(module: &str, files: &Files) -> anyhow::Result<String> {
    let taken = Regex::new(&format!(
        r"module\.{}(?:\[[^\]]*\])?\.(\w+)",
        regex::escape(module)
    ))?;
    let texts = files.iter().flat_map(|(_, text)| taken.captures_iter(text));
    let names: BTreeSet<&str> = texts.filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let output = |name: &&str| format!("output {name:?} {{\n  value = null\n}}\n");
    Ok(names.iter().map(output).collect())
}
