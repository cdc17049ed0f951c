//! The manual of the language, `docs/language.md`: every block and argument, who reads, checks and runs it.
//!
//! What is read is told by the forms that the decoders themselves use, what there is in either dialect by records of the
//! sources of Terraform and OpenTofu, what is refused by asking `limits` about a block of each kind. The rest is `table`.

mod table;

use std::{collections::BTreeMap, fmt::Write as _, sync::Arc};

use anyhow::{Context, Result};
use ashlar_config::{FORMS, Form, FoundModule, Library, ModuleRequest, Shape, limits, provisioner_forms};
use ashlar_diag::{Diags, Sources};
use ashlar_value::Dialect;
use ashlar_xtask::layout;
use serde::Deserialize;

use self::table::{Chapter, Row, chapters};

/// Where it belongs.
pub(crate) const FILE: &str = "docs/language.md";

const HEAD: &str = "\
# The language

<!-- Written by `cargo xtask gen` from the decoders' own forms, the records in tests/oracle/blocks and
operator/xtask/src/language/table.rs. Do not edit. -->

Every block of the language and what it holds: where it is read, where it is checked beyond its form, and where the engine acts by
it. Files are seen from `operator/`. *The reader* checks what no other file is named for. A block that is read and checked, but
not run yet, is refused before anything is planned; its line says so, and `ashlar validate` accepts it.
";

/// The schemas of one dialect, by name.
#[derive(Deserialize)]
struct Record {
    version: String,
    schemas: BTreeMap<String, Schema>,
}

#[derive(Default, Deserialize)]
struct Schema {
    required: Vec<String>,
    optional: Vec<String>,
    blocks: BTreeMap<String, Vec<String>>,
}

impl Schema {
    fn has(&self, name: &str) -> bool {
        self.blocks.contains_key(name) || self.required.iter().chain(&self.optional).any(|own| own == name)
    }
}

/// What the two programs know.
struct Records {
    terraform: Record,
    opentofu: Record,
}

impl Records {
    fn read() -> Result<Self> {
        let read = |name: &str| -> Result<Record> {
            let file = layout::root().join("tests/oracle/blocks").join(name);
            let text = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            serde_json::from_slice(&text).with_context(|| format!("{} is no record", file.display()))
        };
        Ok(Self {
            terraform: read("terraform.json")?,
            opentofu: read("opentofu.json")?,
        })
    }

    /// A block's schema in both. OpenTofu has one for data sources and ephemeral resources.
    fn of(&self, chapter: &Chapter) -> [Option<&Schema>; 2] {
        [&self.terraform, &self.opentofu].map(|record| record.schemas.get(chapter.schema))
    }
}

/// The whole text.
pub(crate) fn text() -> Result<String> {
    let records = Records::read()?;
    let mut out = HEAD.to_owned();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "The languages are those of Terraform {} and OpenTofu {}.",
        records.terraform.version, records.opentofu.version
    );
    for chapter in chapters() {
        write_chapter(&mut out, chapter, &records)?;
    }
    out.push_str("\n## Arguments of provisioners and connections\n");
    for (name, block) in provisioner_forms() {
        let arguments: Vec<String> = block
            .attributes
            .iter()
            .map(|(name, argument)| {
                let required = if argument.required { " (required)" } else { "" };
                format!("`{name}` {}{required}", argument.ty())
            })
            .collect();
        let _ = writeln!(out, "\n- **{name}**: {}", arguments.join(", "));
    }
    Ok(out)
}

fn write_chapter(out: &mut String, chapter: &Chapter, records: &Records) -> Result<()> {
    let form = form_of(chapter);
    let refusal = refusal(chapter)?;
    let title = if chapter.block.is_empty() {
        "A file"
    } else {
        chapter.block
    };
    let _ = writeln!(
        out,
        "\n## {title}\n\n{}{}",
        chapter.about,
        whose(records.of(chapter), chapter)
    );
    if let Some(refusal) = &refusal {
        let _ = writeln!(out, "\n**{}: {}**", refusal.word(), refusal.why);
    }
    let _ = writeln!(out, "\n| | read | checked | run | notes |\n|---|---|---|---|---|");
    for row in chapter.rows {
        let read = match (form, chapter.read) {
            (Some(form), _) if row.name == "*" || has(form, row.name) => file(form.file),
            (None, read) if !read.is_empty() => file(read),
            _ => "not read: told as unsupported".to_owned(),
        };
        let is_read = !read.starts_with("not");
        let checked = match (row.checked, is_read) {
            (_, false) => "–".to_owned(),
            ("", true) => "the reader".to_owned(),
            (checked, true) => file(checked),
        };
        let run = match (&refusal, row.run) {
            _ if !is_read => "–".to_owned(),
            (Some(refusal), _) => refusal.word().to_lowercase(),
            (None, "") => "–".to_owned(),
            (None, run) => file(run),
        };
        let notes = notes(row, records.of(chapter));
        let _ = writeln!(
            out,
            "| {} | {read} | {checked} | {run} | {notes} |",
            shown(row, chapter, records)
        );
    }
    Ok(())
}

fn file(path: &str) -> String {
    format!("`{path}`")
}

fn form_of(chapter: &Chapter) -> Option<&'static Form> {
    FORMS.iter().find(|form| form.block == chapter.block)
}

fn has(form: &Form, name: &str) -> bool {
    [&form.shape, &form.opentofu]
        .into_iter()
        .any(|shape| takes(shape, name))
}

fn takes(shape: &Shape, name: &str) -> bool {
    shape.required.contains(&name)
        || shape.optional.contains(&name)
        || shape.blocks.iter().any(|(kind, _)| *kind == name)
}

/// The name, as it is written.
fn shown(row: &Row, chapter: &Chapter, records: &Records) -> String {
    if row.name == "*" {
        return "*others*".to_owned();
    }
    let form = form_of(chapter);
    let own = form.and_then(|form| {
        let mut blocks = form.shape.blocks.iter().chain(form.opentofu.blocks);
        blocks.find(|(kind, _)| *kind == row.name)
    });
    let recorded = || {
        records
            .of(chapter)
            .into_iter()
            .flatten()
            .find_map(|schema| schema.blocks.get(row.name))
    };
    let labels: Option<Vec<String>> = match own {
        Some((_, labels)) => Some(labels.iter().map(|label| label.to_uppercase()).collect()),
        None => recorded().map(|labels| labels.iter().map(|label| label.to_uppercase()).collect()),
    };
    match labels {
        Some(labels) => {
            let labels: String = labels.iter().map(|label| format!("\"{label}\" ")).collect();
            format!("`{} {labels}{{}}`", row.name)
        }
        None if form.is_some_and(|form| form.shape.required.contains(&row.name)) => {
            format!("`{}` (required)", row.name)
        }
        None => format!("`{}`", row.name),
    }
}

/// Which dialect the whole block belongs to, if not to both.
fn whose(schemas: [Option<&Schema>; 2], chapter: &Chapter) -> String {
    let unread = if form_of(chapter).is_none() && chapter.read.is_empty() {
        " Not read: told as an unsupported block or argument."
    } else {
        ""
    };
    let only = match schemas {
        [Some(_), None] if chapter.schema != "ephemeralBlock" => " Terraform only.",
        [None, Some(_)] => " OpenTofu only.",
        _ => "",
    };
    format!("{only}{unread}")
}

fn notes(row: &Row, schemas: [Option<&Schema>; 2]) -> String {
    let mut notes = row.note.to_owned();
    if let [Some(terraform), Some(opentofu)] = schemas {
        let only = match (terraform.has(row.name), opentofu.has(row.name)) {
            (true, false) => "Terraform only.",
            (false, true) => "OpenTofu only.",
            _ => "",
        };
        if !only.is_empty() {
            notes = format!("{only} {notes}").trim_end().to_owned();
        }
    }
    notes
}

/// What the engine says of a block that it does not act by.
struct Refusal {
    /// Is it passed over, not refused?
    passed_over: bool,
    why: String,
}

impl Refusal {
    fn word(&self) -> &'static str {
        if self.passed_over { "Not used" } else { "Refused" }
    }
}

/// Asks about a configuration with the block.
fn refusal(chapter: &Chapter) -> Result<Option<Refusal>> {
    let (tree, diags, _) = load(chapter);
    anyhow::ensure!(
        !diags.has_errors(),
        "the example of {:?} does not load: {:?}",
        chapter.block,
        diags.iter().map(|diag| &diag.summary).collect::<Vec<_>>()
    );
    let told = limits(&tree);
    // The innermost block that something is said of.
    let about = |word: &str| {
        let named = format!("{word} block");
        told.iter()
            .find(|diag| diag.summary.contains(&named) || diag.detail.contains(&named))
    };
    let mut words = chapter.block.split(' ').next().unwrap_or_default().rsplit('.');
    let told = words.find_map(|word| about(word).filter(|_| !word.is_empty()));
    Ok(told.map(|diag| {
        let first = diag.detail.split_inclusive(". ").next().unwrap_or_default();
        Refusal {
            passed_over: !diag.is_error(),
            why: first.trim_end().to_owned(),
        }
    }))
}

/// A block that Terraform does not have is shown as OpenTofu has it.
fn dialect_of(chapter: &Chapter) -> Dialect {
    match form_of(chapter) {
        Some(form)
            if [form.shape.required, form.shape.optional].concat().is_empty()
                && form.shape.blocks.is_empty() =>
        {
            Dialect::OpenTofu
        }
        _ => Dialect::Terraform,
    }
}

fn load(chapter: &Chapter) -> (ashlar_config::Tree, Diags, Sources) {
    let mut sources = Sources::new();
    let files = vec![(Arc::from("main.tf"), Arc::from(chapter.example))];
    let given = BTreeMap::new();
    let (tree, diags) = ashlar_config::load(files, dialect_of(chapter), &given, &mut Empty, &mut sources);
    (tree, diags, sources)
}

/// Every module that is called is there, and empty.
struct Empty;

impl Library for Empty {
    fn find(&mut self, _: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        Ok(FoundModule {
            folder: "a".into(),
            files: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
