//! Files of the module and values of its variables, gathered as Terraform does.
//!
//! Later wins: `TF_VAR_` environment, `terraform.tfvars`, `terraform.tfvars.json`, `*.auto.tfvars` and
//! `*.auto.tfvars.json` by name, `--var-file`, `--var`.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use anyhow::{Context, bail};
use ashlar_config::{Files, Input, InputValue, Origin, parse_values_file};
use ashlar_diag::{Diags, Sources, decode};
use ashlar_runner::read_folder;
use ashlar_value::Dialect;

use crate::args::Values;

/// The module's files, if there are any.
pub(crate) fn files_in(dir: &Path, dialect: Dialect) -> anyhow::Result<Files> {
    read_folder(dir, "", dialect).with_context(|| format!("The folder {} cannot be read", dir.display()))
}

/// The module's files, of which there must be some.
pub(crate) fn module_files(dir: &Path, dialect: Dialect) -> anyhow::Result<Files> {
    let files = files_in(dir, dialect)?;
    if files.is_empty() {
        bail!(
            "The folder {} holds no configuration (no .tf file). Choose another with --dir.",
            dir.display()
        );
    }
    Ok(files)
}

/// Values for variables, and the faults of the files that hold them.
pub(crate) fn gather(
    dir: &Path,
    values: &Values,
    sources: &mut Sources,
) -> anyhow::Result<(BTreeMap<Arc<str>, Input>, Diags)> {
    let mut inputs = BTreeMap::new();
    let mut diags = Diags::new();
    for (name, text) in std::env::vars() {
        if let Some(variable) = name.strip_prefix("TF_VAR_") {
            inputs.insert(
                variable.into(),
                Input {
                    value: InputValue::Text(text.into()),
                    origin: Origin::Shared,
                },
            );
        }
    }
    let mut files = vec![dir.join("terraform.tfvars"), dir.join("terraform.tfvars.json")];
    let mut automatic: Vec<_> = std::fs::read_dir(dir)
        .with_context(|| format!("The folder {} cannot be read", dir.display()))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.to_str().is_some_and(is_automatic))
        .collect();
    automatic.sort();
    files.extend(automatic);
    files.retain(|path| path.is_file());
    files.extend(values.var_files.iter().cloned());
    for path in files {
        let bytes = std::fs::read(&path)
            .with_context(|| format!("The file of values {} cannot be read", path.display()))?;
        let name = path.display().to_string();
        let text = decode(&name, bytes);
        let (found, faults) = parse_values_file(name, text, sources);
        inputs.extend(found);
        diags.extend(faults);
    }
    for given in &values.vars {
        let Some((name, text)) = given.split_once('=') else {
            bail!("--var {given:?} is not of the form NAME=VALUE.");
        };
        inputs.insert(
            name.trim().into(),
            Input {
                value: InputValue::Text(text.into()),
                origin: Origin::Direct,
            },
        );
    }
    Ok((inputs, diags))
}

/// Is it the name of a file of values that is read without being named?
fn is_automatic(name: &str) -> bool {
    name.ends_with(".auto.tfvars") || name.ends_with(".auto.tfvars.json")
}
