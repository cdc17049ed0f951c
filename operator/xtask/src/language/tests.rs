use std::collections::BTreeSet;

use super::*;

fn crates() -> std::path::PathBuf {
    layout::root().join("operator")
}

#[test]
fn the_table_and_the_decoders_name_the_same() {
    let records = Records::read().unwrap();
    for form in FORMS {
        let chapter = chapters().find(|chapter| chapter.block == form.block);
        assert!(chapter.is_some(), "{:?} has no chapter", form.block);
    }
    for chapter in chapters() {
        let form = form_of(chapter);
        assert!(
            form.is_none() || chapter.read.is_empty(),
            "{:?} has a form, which says who reads it",
            chapter.block
        );
        let mut wanted = BTreeSet::new();
        if let Some(form) = form {
            for shape in [&form.shape, &form.opentofu] {
                wanted.extend(shape.required.iter().chain(shape.optional).copied());
                wanted.extend(shape.blocks.iter().map(|(kind, _)| *kind));
            }
        }
        for schema in records.of(chapter).into_iter().flatten() {
            wanted.extend(schema.required.iter().chain(&schema.optional).map(String::as_str));
            wanted.extend(schema.blocks.keys().map(String::as_str));
        }
        let names: Vec<&str> = chapter
            .rows
            .iter()
            .map(|row| row.name)
            .filter(|name| *name != "*")
            .collect();
        let told: BTreeSet<&str> = names.iter().copied().collect();
        assert_eq!(
            told.len(),
            names.len(),
            "{:?} tells something twice",
            chapter.block
        );
        if !wanted.is_empty() {
            assert_eq!(told, wanted, "{:?}", chapter.block);
        }
    }
}

#[test]
fn forms_are_those_of_either_program() {
    let records = Records::read().unwrap();
    let sorted = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<BTreeSet<_>>()
    };
    for chapter in chapters() {
        let Some(form) = form_of(chapter) else { continue };
        let shapes = [&form.shape, &form.opentofu];
        for (shape, schema) in shapes.into_iter().zip(records.of(chapter)) {
            let Some(schema) = schema else { continue };
            let about = chapter.block;
            let known = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
            assert_eq!(sorted(shape.required), known(&schema.required), "{about:?}");
            assert_eq!(sorted(shape.optional), known(&schema.optional), "{about:?}");
            let mut blocks = schema.blocks.clone();
            // Releases of Terraform refuse this one.
            blocks.remove("state_store");
            let own = shape.blocks.iter().map(|(kind, labels)| {
                let labels = labels.iter().map(|label| (*label).to_owned()).collect();
                ((*kind).to_owned(), labels)
            });
            assert_eq!(
                own.collect::<BTreeMap<String, Vec<String>>>(),
                blocks,
                "{about:?}"
            );
        }
    }
}

#[test]
fn every_schema_has_a_chapter() {
    let records = Records::read().unwrap();
    for record in [&records.terraform, &records.opentofu] {
        for name in record.schemas.keys().filter(|name| *name != "ephemeralBlock") {
            let told = chapters().any(|chapter| chapter.schema == name);
            assert!(told, "{name} has no chapter");
        }
    }
}

#[test]
fn every_form_that_a_decoder_uses_is_listed() {
    let forms = std::fs::read_to_string(crates().join("config/src/forms.rs")).unwrap();
    let mut found = 0;
    for folder in ["config/src", "config/src/check", "eval/src"] {
        for entry in std::fs::read_dir(crates().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let Some(stem) = path.file_stem().filter(|_| path.is_file()) else {
                continue;
            };
            let stem = stem.to_string_lossy();
            let text = std::fs::read_to_string(&path).unwrap();
            for line in text.lines().filter(|line| line.contains(": Shape = Shape {")) {
                let name = line.split(':').next().unwrap().split(' ').next_back().unwrap();
                let named = [
                    format!("{stem}::{name}"),
                    format!(" {name})"),
                    format!(" {name},"),
                ];
                assert!(
                    named.iter().any(|named| forms.contains(named.as_str())),
                    "{name} of {} is not in FORMS",
                    path.display()
                );
                found += 1;
            }
        }
    }
    assert!(found > 15, "{found} forms found");
}

#[test]
fn every_file_is_there_and_every_block_that_runs_says_where() {
    let there = |file: &str| assert!(crates().join(file).is_file(), "there is no {file}");
    for form in FORMS {
        there(form.file);
    }
    for chapter in chapters() {
        let refused = refusal(chapter).unwrap().is_some();
        let is_read = |row: &Row| match form_of(chapter) {
            Some(form) => row.name == "*" || has(form, row.name),
            None => !chapter.read.is_empty(),
        };
        for file in [chapter.read].into_iter().filter(|file| !file.is_empty()) {
            there(file);
        }
        for row in chapter.rows {
            for file in [row.checked, row.run].into_iter().filter(|file| !file.is_empty()) {
                there(file);
            }
            assert!(
                refused || !is_read(row) || !row.run.is_empty() || !row.note.is_empty(),
                "{}.{} is not refused any more: say in the table which file runs it",
                chapter.block,
                row.name
            );
        }
    }
}

#[test]
fn what_is_refused_is_told_so() {
    let chapter = |block: &str| chapters().find(|chapter| chapter.block == block).unwrap();
    let told = |block: &str| refusal(chapter(block)).unwrap();
    assert!(told("resource").is_none());
    assert!(told("variable.validation").is_none());
    assert!(told("terraform.backend \"local\"").is_some_and(|told| told.passed_over));
}
