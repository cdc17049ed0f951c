//! Packages that are folders or archives of this machine: for a person's own commands alone.

use std::{fs::File, path::PathBuf};

use crate::{
    address::{Address, decode},
    archive::{self, Kind},
    cache::Content,
    fault::Fault,
    fetcher::blocking,
    package::Package,
    tree::Tree,
};

/// What no module has, and what may be large.
const LEFT_OUT: [&str; 2] = [".git", ".terraform"];

impl Package<'_> {
    pub(crate) async fn folder(&self, mut address: Address) -> Result<Content, Fault> {
        if !self.fetcher.web.reach.has_files() {
            return Err(Fault::refused(format!(
                "{address} is a folder of the machine that fetches, which is nobody's business but its own."
            )));
        }
        let named = address.take_parameter("archive");
        let path = PathBuf::from(decode(&address.path));
        let kind = match named.as_deref() {
            Some("false" | "0") => None,
            Some(name) => Kind::named(name),
            None => Kind::of_path(&address.path),
        };
        let (cache, limits, deadline) = (
            self.fetcher.cache.clone(),
            self.fetcher.web.limits.clone(),
            self.deadline,
        );
        blocking(move || {
            let half = cache.half()?;
            let mut tree = Tree::new(&half.folder, &limits, deadline);
            if path.is_dir() {
                tree.copy_of(&path, &LEFT_OUT)?;
            } else if let Some(kind) = kind {
                let file = File::open(&path)
                    .map_err(|error| Fault::absent(format!("{address} cannot be read: {error}.")))?;
                archive::unpack(file, kind, &limits, &mut tree)?;
            } else {
                return Err(Fault::absent(format!(
                    "{address} is neither a folder nor an archive."
                )));
            }
            let digest = tree.finish()?;
            cache.keep(&half, &digest, &digest)
        })
        .await
    }
}
