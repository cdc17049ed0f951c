//! Files of a folder to a module: each is parsed, each block read into the model.
//!
//! All faults of all files are told at once. Rules: Terraform `configs/parser_config.go`, `module.go`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use ashlar_addr::Mode;
use ashlar_diag::{Diag, Diags, FileId, Sources, Span};
use ashlar_eval::{Shape, Variable};
use ashlar_syntax::{Block, parse_file};
use ashlar_value::Dialect;

use crate::{
    Module,
    overrides::{is_override, not_overridden},
    terraform_block::backend_faults,
};

/// Files: name and text of each.
pub type Files = Vec<(Arc<str>, Arc<str>)>;

pub(crate) const FILE: Shape = Shape {
    required: &[],
    optional: &[],
    blocks: &[
        ("terraform", &[]),
        ("required_providers", &[]),
        ("provider", &["name"]),
        ("variable", &["name"]),
        ("locals", &[]),
        ("output", &["name"]),
        ("module", &["name"]),
        ("resource", &["type", "name"]),
        ("data", &["type", "name"]),
        ("ephemeral", &["type", "name"]),
        ("action", &["type", "name"]),
        ("moved", &[]),
        ("removed", &[]),
        ("import", &[]),
        ("check", &["name"]),
    ],
};

pub(crate) const OPENTOFU: Shape = Shape {
    required: &[],
    optional: &[],
    blocks: &[
        ("language", &[]),
        ("terraform", &[]),
        ("required_providers", &[]),
        ("provider", &["name"]),
        ("variable", &["name"]),
        ("locals", &[]),
        ("output", &["name"]),
        ("module", &["name"]),
        ("resource", &["type", "name"]),
        ("data", &["type", "name"]),
        ("ephemeral", &["type", "name"]),
        ("moved", &[]),
        ("removed", &[]),
        ("import", &[]),
        ("check", &["name"]),
    ],
};

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Loader {
    pub(crate) module: Module,
    pub(crate) diags: Diags,
    /// The header of the `required_providers` block.
    pub(crate) required: Option<Span>,
    /// Is a file being read whose name is one of OpenTofu's alone?
    pub(crate) own_file: bool,
    /// Is an override file being read?
    pub(crate) overriding: bool,
    pub(crate) in_file: InFile,
    /// The instances that something is imported to.
    pub(crate) imported: BTreeSet<String>,
}

/// What the override file that is being read has overridden already.
#[derive(Default)]
pub(crate) struct InFile {
    pub(crate) version: bool,
    pub(crate) backend: bool,
    pub(crate) cloud: bool,
    pub(crate) encryption: bool,
}

/// Reads a module from its files: name and text of each; a name may have folders in front, the same for all. Files that are
/// no configuration are passed over, as Terraform does. With errors the module is what could be read, and not fit to be
/// planned. `known`: the files read before, by name; a module that is called several times has its faults at the same places.
pub(crate) fn read_module(
    files: Files,
    dialect: Dialect,
    sources: &mut Sources,
    known: &mut HashMap<Arc<str>, FileId>,
) -> (Module, Diags) {
    let mut files: Vec<_> = files
        .into_iter()
        .filter(|(name, _)| is_config(name, dialect))
        .collect();
    // One of OpenTofu's own hides the other of the same name.
    let own: BTreeSet<Arc<str>> = files.iter().filter_map(|(name, _)| hidden_by(name)).collect();
    files.retain(|(name, _)| !own.contains(name));
    files.sort_by(|(a, _), (b, _)| (is_override(a), a).cmp(&(is_override(b), b)));
    let shape = match dialect {
        Dialect::Terraform => FILE,
        Dialect::OpenTofu => OPENTOFU,
    };
    let mut loader = Loader::default();
    loader.module.dialect = dialect;
    for (name, text) in files {
        let before = known.get(&name).copied();
        let is_same = |file: &FileId| sources.get(*file).is_some_and(|source| source.text == text);
        let file = match before.filter(is_same) {
            Some(file) => file,
            None => sources.add(name.clone(), text),
        };
        known.insert(name.clone(), file);
        loader.overriding = is_override(&name);
        loader.own_file = hidden_by(&name).is_some();
        loader.in_file = InFile::default();
        let (body, faults) = parse_file(sources, file);
        loader.diags.extend(faults);
        let blocks = shape.content(body, None, &mut loader.diags).blocks.into_iter();
        // A data source inside a check block gives way to one outside.
        let (checks, others): (Vec<_>, Vec<_>) = blocks.partition(|block| &*block.kind.name == "check");
        for block in others.into_iter().chain(checks) {
            loader.block(block);
        }
    }
    loader.diags.extend(backend_faults(&loader.module));
    (loader.module, loader.diags)
}

/// Reads the root module from its files alone, for who asks what it declares before anything is loaded.
pub fn read_root(files: &Files, dialect: Dialect, sources: &mut Sources) -> (Module, Diags) {
    let own = files.iter().filter(|(name, _)| !name.contains('/'));
    read_module(own.cloned().collect(), dialect, sources, &mut HashMap::new())
}

/// Is a file of this name read as part of a module, if it stands in the module's folder?
pub fn is_config(name: &str, dialect: Dialect) -> bool {
    let name = name.rsplit('/').next().unwrap_or(name);
    let hidden =
        name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
    let plain = name.strip_suffix(".json").unwrap_or(name);
    !hidden && (plain.ends_with(".tf") || dialect == Dialect::OpenTofu && plain.ends_with(".tofu"))
}

/// The name that a `.tofu` file hides.
fn hidden_by(name: &str) -> Option<Arc<str>> {
    let (plain, json) = match name.strip_suffix(".json") {
        Some(plain) => (plain, ".json"),
        None => (name, ""),
    };
    Some(format!("{}.tf{json}", plain.strip_suffix(".tofu")?).into())
}

impl Loader {
    fn block(&mut self, block: Block) {
        match &*block.kind.name {
            "terraform" => self.terraform_block(block),
            "required_providers" => {
                let detail = "A required_providers block stands inside a terraform block.";
                self.diags
                    .push(Diag::error("Invalid required_providers block", detail).at(block.kind.span));
            }
            "provider" => self.provider_block(block),
            "variable" => self.variable_block(&block),
            "locals" => self.locals_block(block),
            "output" => self.output_block(block),
            "module" => self.module_block(block),
            "resource" => self.resource_block(block, Mode::Managed),
            "data" => self.resource_block(block, Mode::Data),
            "ephemeral" => self.resource_block(block, Mode::Ephemeral),
            "action" => self.action_block(block),
            "language" => self.language_block(block),
            "moved" => self.moved_block(block),
            "removed" => self.removed_block(block),
            "import" => self.import_block(block),
            _ => self.check_block(block),
        }
    }

    fn variable_block(&mut self, block: &Block) {
        let (variable, faults) = Variable::read(block);
        self.diags.extend(faults);
        let Some(mut variable) = variable else { return };
        if self.overriding {
            for inner in block.body.as_read().blocks_of("validation") {
                self.diags.push(not_overridden(inner));
            }
            variable.validations.clear();
            let body = block.body.as_read();
            let set = body
                .attributes
                .iter()
                .map(|attribute| attribute.name.name.clone());
            return self.override_variable(variable, &set.collect());
        }
        if self.module.variables.contains_key(&variable.name) {
            let detail = format!(
                "The variable {:?} is declared twice in this module.",
                &*variable.name
            );
            self.diags
                .push(Diag::error("Duplicate variable declaration", detail).at(variable.declared));
        }
        self.module.variables.insert(variable.name.clone(), variable);
    }
}

#[cfg(test)]
mod tests;
