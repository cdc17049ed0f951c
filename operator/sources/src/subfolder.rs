//! The folder in a package that is meant; a name with `*` stands for the one that fits.

use std::{fs, path::Path};

use globset::GlobBuilder;

use crate::{
    cache::Content,
    fault::Fault,
    fetcher::{Fetcher, blocking},
    tree::{Tree, shown},
};

/// A folder with its stars resolved. It need not be there if it has none.
pub(crate) fn expand(root: &Path, folder: &str) -> Result<String, Fault> {
    let mut path = String::new();
    for part in folder.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return Err(Fault::asked(format!(
                "The folder {} leads out of the package.",
                shown(folder)
            )));
        }
        let name = if part.contains(['*', '?', '[']) {
            the_one(&root.join(&path), part, folder)?
        } else {
            part.to_owned()
        };
        if !path.is_empty() {
            path.push('/');
        }
        path.push_str(&name);
    }
    Ok(path)
}

fn the_one(parent: &Path, pattern: &str, folder: &str) -> Result<String, Fault> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    let glob =
        glob.map_err(|_| Fault::asked(format!("The folder {} is no sound pattern.", shown(folder))))?;
    let matcher = glob.compile_matcher();
    let entries = fs::read_dir(parent).map(|entries| entries.filter_map(Result::ok).collect::<Vec<_>>());
    let mut found = entries
        .unwrap_or_default()
        .into_iter()
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| matcher.is_match(name));
    match (found.next(), found.next()) {
        (Some(name), None) => Ok(name),
        (None, _) => Err(Fault::absent(format!(
            "The package has no folder like {}.",
            shown(folder)
        ))),
        (Some(_), Some(_)) => Err(Fault::asked(format!(
            "The package has several folders like {}; one must be meant.",
            shown(folder)
        ))),
    }
}

/// A folder of a package as a package of its own.
pub(crate) async fn narrow(fetcher: &Fetcher, content: Content, folder: &str) -> Result<Content, Fault> {
    let folder = expand(&content.folder, folder)?;
    if folder.is_empty() {
        return Ok(content);
    }
    let (cache, limits, deadline) = (
        fetcher.cache.clone(),
        fetcher.web.limits.clone(),
        fetcher.deadline(),
    );
    blocking(move || {
        let half = cache.half()?;
        let mut tree = Tree::new(&half.folder, &limits, deadline);
        let from = content.folder.join(&folder);
        if !from.is_dir() {
            return Err(Fault::absent(format!(
                "The package has no folder {}.",
                shown(&folder)
            )));
        }
        tree.copy_of(&from, &[])?;
        let digest = tree.finish()?;
        cache.keep(&half, &digest, &content.revision)
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_folder() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["repo-1a2b/modules/vpc", "repo-1a2b/modules/eks", "repo-1a2b/x"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        fs::write(root.path().join("repo-file"), "").unwrap();
        let check = |folder: &str, want: Result<&str, &str>| {
            let got = expand(root.path(), folder).map_err(|fault| fault.text);
            match (&got, want) {
                (Ok(got), Ok(want)) => assert_eq!(got, want, "{folder}"),
                (Err(got), Err(want)) => assert!(got.contains(want), "{folder}: {got}"),
                _ => panic!("{folder}: {got:?}"),
            }
        };
        check("", Ok(""));
        check("*", Ok("repo-1a2b"));
        check("repo-*/modules/vpc", Ok("repo-1a2b/modules/vpc"));
        check("*/modules/*", Err("several folders"));
        check("*/nothing-*", Err("no folder like"));
        check("*/nothing", Ok("repo-1a2b/nothing"));
        check("a/../../b", Err("leads out"));
    }
}
