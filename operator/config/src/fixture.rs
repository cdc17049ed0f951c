//! For tests: a configuration from texts.

use std::{collections::BTreeMap, sync::Arc};

use ashlar_diag::{Diags, Sources};
use ashlar_value::Dialect;

use crate::{FoundModule, Library, ModuleRequest, Tree, source::ModuleSource};

/// Loads files by name; those in folders are modules that can be called.
pub(crate) fn load_files(files: &[(&str, &str)], sources: &mut Sources) -> (Tree, Diags) {
    let files: crate::Files = files
        .iter()
        .map(|(name, text)| (Arc::from(*name), Arc::from(*text)))
        .collect();
    let mut folders = Folders(files.clone());
    crate::load(files, Dialect::Terraform, &BTreeMap::new(), &mut folders, sources)
}

/// Loads one file.
pub(crate) fn load_text(text: &str, sources: &mut Sources) -> (Tree, Diags) {
    load_files(&[("main.tf", text)], sources)
}

struct Folders(crate::Files);

impl Library for Folders {
    fn find(&mut self, request: &ModuleRequest<'_>) -> Result<FoundModule, Diags> {
        let ModuleSource::Local(path) = request.source else {
            return ().find(request);
        };
        let folder = crate::source::clean(&format!("{}/{path}", request.from));
        let inside = |name: &str| name.rsplit_once('/').is_some_and(|(parent, _)| parent == folder);
        let files = self.0.iter().filter(|(name, _)| inside(name)).cloned().collect();
        Ok(FoundModule {
            folder: folder.into(),
            files,
        })
    }
}
