//! Files to the module: each is parsed, each block read into the model, then what files say together is checked.
//!
//! All faults of all files are told at once. Rules: Terraform `configs/parser_config.go`, `module.go`.

use std::sync::Arc;

use ashlar_addr::Mode;
use ashlar_diag::{Diag, Diags, FileId, Sources, Span};
use ashlar_eval::{Shape, Variable};
use ashlar_syntax::{Block, parse_file};
use ashlar_value::Dialect;

use crate::{Module, not_yet};

const FILE: Shape = Shape {
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

/// What has been read so far.
#[derive(Default)]
pub(crate) struct Loader {
    pub(crate) module: Module,
    pub(crate) diags: Diags,
    /// The header of the `required_providers` block.
    pub(crate) required: Option<Span>,
    pub(crate) backend: Option<Span>,
    pub(crate) cloud: Option<Span>,
}

/// Reads a root module from its files: name and text of each, in the language of the dialect. Files in folders and files that are no configuration are
/// passed over, as Terraform does. With errors the module is what could be read, and not fit to be planned.
pub fn load<N: Into<Arc<str>>, T: Into<Arc<str>>>(
    files: impl IntoIterator<Item = (N, T)>,
    dialect: Dialect,
    sources: &mut Sources,
) -> (Module, Diags) {
    let mut files: Vec<(Arc<str>, Arc<str>)> = files
        .into_iter()
        .map(|(name, text)| (name.into(), text.into()))
        .filter(|(name, _)| is_config(name))
        .collect();
    files.sort();
    let mut loader = Loader::default();
    loader.module.dialect = dialect;
    for (name, text) in files {
        let file = sources.add(name.clone(), text);
        if let Some(diag) = unread(&name, file) {
            loader.diags.push(diag);
            continue;
        }
        let (body, faults) = parse_file(sources, file);
        loader.diags.extend(faults);
        for block in FILE.content(body, None, &mut loader.diags).blocks {
            loader.block(block);
        }
    }
    loader.finish()
}

/// Does Terraform read a file of this name as part of the module?
fn is_config(name: &str) -> bool {
    let hidden =
        name.starts_with('.') || name.ends_with('~') || (name.starts_with('#') && name.ends_with('#'));
    !hidden && !name.contains('/') && (name.ends_with(".tf") || name.ends_with(".tf.json"))
}

/// The fault of a file that cannot be read yet.
fn unread(name: &str, file: FileId) -> Option<Diag> {
    let start = Span::new(file, 0, 0);
    let stem = name.strip_suffix(".json").unwrap_or(name).trim_end_matches(".tf");
    (stem == "override" || stem.ends_with("_override")).then(|| not_yet("override files", start))
}

impl Loader {
    fn block(&mut self, block: Block) {
        let header = block.header();
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
            "resource" => self.resource_block(block, Mode::Managed),
            "data" => self.resource_block(block, Mode::Data),
            kind => self.diags.push(not_yet(&format!("{kind} blocks"), header)),
        }
    }

    fn variable_block(&mut self, block: &Block) {
        let (variable, faults) = Variable::read(block);
        self.diags.extend(faults);
        let Some(variable) = variable else { return };
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

    fn finish(mut self) -> (Module, Diags) {
        self.finish_backend();
        self.resolve_providers();
        (self.module, self.diags)
    }
}

#[cfg(test)]
mod tests;
