//! A configuration of many modules: a root that calls groups, which call leaves, each in a folder of its own.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Modules, the root one counted.
pub(super) const MODULES: usize = 2_000;
/// Blocks at the top of files, in all modules together.
pub(super) const BLOCKS: usize = 10_000;

const GROUPS: usize = 40;
const LEAVES: usize = MODULES - 1 - GROUPS;

const NEEDS: &str = "terraform {\n  required_providers {\n    kiln = {\n      source = \"forge.test/studio/kiln\"\n    }\n  }\n}\n\n";

/// Four blocks of a leaf that needs no plugin, and of one that needs one. Either is given what the leaf before came to.
const LEAF: [&str; 2] = [
    "variable \"given\" {\n  type = object({ name = string, after = string })\n}\n\n\
     locals {\n  parts = [for part in split(\"-\", var.given.name) : upper(part)]\n}\n\n\
     resource \"terraform_data\" \"a\" {\n  input = merge(var.given, { parts = join(\"\", local.parts) })\n}\n\n\
     output \"id\" {\n  value = terraform_data.a.id\n}\n",
    "variable \"given\" {\n  type = object({ name = string, after = string })\n}\n\n\
     resource \"kiln_pot\" \"a\" {\n  name = \"${var.given.name}/${var.given.after}\"\n}\n\n\
     output \"id\" {\n  value = kiln_pot.a.id\n}\n",
];

/// Modules by folder, the root's with the empty name.
pub(super) fn modules() -> Vec<(String, String)> {
    let mut all = Vec::with_capacity(MODULES);
    let mut root =
        format!("{NEEDS}provider \"kiln\" {{}}\n\nvariable \"name\" {{\n  default = \"tree\"\n}}\n\n");
    // Writing to a String cannot fail.
    for group in 0..GROUPS {
        let leaves = LEAVES / GROUPS + usize::from(group < LEAVES % GROUPS);
        let mut text = "variable \"name\" {\n  type = string\n}\n\n".to_owned();
        for leaf in 0..leaves {
            let after = match leaf.checked_sub(1) {
                Some(before) => format!("module.l{before}.id"),
                None => "var.name".to_owned(),
            };
            let _ = write!(
                text,
                "module \"l{leaf}\" {{\n  source = \"./l{leaf}\"\n  given  = {{ name = \"${{var.name}}-{leaf}\", after = {after} }}\n}}\n\n"
            );
            let kind = leaf % 2;
            let needs = if kind == 1 { NEEDS } else { "" };
            all.push((format!("g{group}/l{leaf}"), format!("{needs}{}", LEAF[kind])));
        }
        let ids: Vec<String> = (0..leaves).map(|leaf| format!("module.l{leaf}.id")).collect();
        let _ = writeln!(text, "output \"ids\" {{\n  value = [{}]\n}}", ids.join(", "));
        all.push((format!("g{group}"), text));
        let _ = write!(
            root,
            "module \"g{group}\" {{\n  source = \"./g{group}\"\n  name   = \"${{var.name}}-{group}\"\n}}\n\n\
             output \"g{group}\" {{\n  value = module.g{group}.ids\n}}\n\n"
        );
    }
    let others: usize = all.iter().map(|(_, text)| blocks(text)).sum();
    for number in others + blocks(&root)..BLOCKS {
        let _ = write!(
            root,
            "locals {{\n  n{number} = \"${{var.name}}-{number}\"\n}}\n\n"
        );
    }
    all.push((String::new(), root));
    all
}

/// How many blocks stand at the top of a file that is written as those here.
fn blocks(text: &str) -> usize {
    text.lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()))
        .count()
}

/// Writes them all.
pub(super) fn write(folder: &Path) -> Result<()> {
    for (name, text) in modules() {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        fs::write(folder.join("main.tf"), text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_are_told() {
        let all = modules();
        assert_eq!(all.len(), MODULES);
        assert_eq!(all.iter().map(|(_, text)| blocks(text)).sum::<usize>(), BLOCKS);
        assert_eq!(
            all.iter()
                .filter(|(_, text)| text.contains("resource \"kiln_pot\""))
                .count(),
            960
        );
    }
}
