//! `.terraform.lock.hcl`: which version of each provider a folder uses, and what its package must be.
//!
//! Read and kept for folders on a person's machine, as `terraform init` does it; a run in a cluster obeys what its source settles,
//! and apply keeps to what its plan pinned. Source: Terraform `internal/depsfile`, `internal/providercache/installer.go`. Decides nothing by itself: see
//! `providers`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    io::Write as _,
    path::Path,
};

use ashlar_addr::{Provider, Version};
use ashlar_diag::{Diag, Diags, Sources};
use ashlar_eval::{Shape, evaluate_constant};
use ashlar_syntax::{Block, parse_file};
use ashlar_value::Value;

/// What it is called.
const NAME: &str = ".terraform.lock.hcl";
const HEAD: &str = "# Kept by ashlar, in the form that \"terraform init\" keeps, too.\n";

/// The versions in use, by provider.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockFile(pub(crate) BTreeMap<Provider, Locked>);

/// What is settled of one provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Locked {
    pub(crate) version: Version,
    /// What the configuration asked for when that was settled, for people.
    pub(crate) constraints: String,
    /// Of its packages, for any platform: `h1:` of their files, `zh:` of their archives.
    pub(crate) hashes: BTreeSet<String>,
}

impl LockFile {
    /// Reads a folder's; one that is not there settles nothing.
    pub(crate) fn read(folder: &Path, sources: &mut Sources) -> Result<Self, Diags> {
        let path = folder.join(NAME);
        match std::fs::read_to_string(&path) {
            Ok(text) => Self::parse(text, sources),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => {
                let detail = format!("The file {} could not be read: {error}.", path.display());
                Err(Diag::error("Failed to read dependency lock file", detail).into())
            }
        }
    }

    fn parse(text: String, sources: &mut Sources) -> Result<Self, Diags> {
        let file = sources.add(NAME, text);
        let (body, mut diags) = parse_file(sources, file);
        let shape = Shape {
            required: &[],
            optional: &[],
            blocks: &[("provider", &["source"])],
        };
        let found = shape.split(body, None, &mut diags);
        let mut locks = BTreeMap::new();
        for block in found.blocks {
            let Some((provider, locked)) = diags.take(entry(block)) else {
                continue;
            };
            locks.insert(provider, locked);
        }
        if diags.has_errors() {
            return Err(diags);
        }
        Ok(Self(locks))
    }

    /// Writes it into a folder, whole or not at all.
    pub(crate) fn write(&self, folder: &Path) -> Result<(), Diags> {
        let path = folder.join(NAME);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(self.text().as_bytes())?;
            // For everybody who works on the folder, as it goes into version control.
            let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
            file.as_file().set_permissions(readable)?;
            file.persist(&path)?;
            Ok::<_, std::io::Error>(())
        };
        write().map_err(|error| {
            let detail = format!("The file {} could not be written: {error}.", path.display());
            Diag::error("Failed to save dependency lock file", detail).into()
        })
    }

    fn text(&self) -> String {
        let mut out = HEAD.to_owned();
        for (provider, locked) in &self.0 {
            // Writing into a text cannot fail.
            let _ = writeln!(out, "\nprovider \"{provider}\" {{");
            if locked.constraints.is_empty() {
                let _ = writeln!(out, "  version = \"{}\"", locked.version);
            } else {
                let _ = writeln!(out, "  version     = \"{}\"", locked.version);
                let _ = writeln!(out, "  constraints = \"{}\"", locked.constraints);
            }
            if !locked.hashes.is_empty() {
                out.push_str("  hashes = [\n");
                for hash in &locked.hashes {
                    let _ = writeln!(out, "    \"{hash}\",");
                }
                out.push_str("  ]\n");
            }
            out.push_str("}\n");
        }
        out
    }
}

/// The version of each provider that a folder's `.terraform.lock.hcl` settles; none if there is no such file.
pub fn locked_versions(folder: &Path) -> Result<BTreeMap<Provider, Version>, Diags> {
    let LockFile(locks) = LockFile::read(folder, &mut Sources::new())?;
    let version = |(provider, locked): (Provider, Locked)| (provider, locked.version);
    Ok(locks.into_iter().map(version).collect())
}

fn entry(block: Block) -> Result<(Provider, Locked), Diags> {
    let header = block.header();
    let fault = |summary: &'static str, detail: String| Diags::from(Diag::error(summary, detail).at(header));
    let source = block
        .labels
        .first()
        .map(|label| label.name.clone())
        .unwrap_or_default();
    let provider: Provider = source.parse().map_err(|_| {
        let detail = format!(
            "{source:?} is no address of a provider, as registry.terraform.io/hashicorp/random is one."
        );
        fault("Invalid provider source address", detail)
    })?;
    let mut diags = Diags::new();
    let shape = Shape {
        required: &["version"],
        optional: &["constraints", "hashes"],
        blocks: &[],
    };
    let mut found = shape.split(block.body, Some(block.close), &mut diags);
    let mut value = |name: &str| {
        let attribute = found.take(name)?;
        let (value, told) = evaluate_constant(&attribute.expr);
        diags.extend(told);
        Some(value)
    };
    let version = value("version");
    let constraints = value("constraints");
    let hashes = value("hashes");
    if diags.has_errors() {
        return Err(diags);
    }
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(ToString::to_string));
    let version = text(version)
        .and_then(|version| version.parse().ok())
        .ok_or_else(|| {
            fault(
                "Invalid provider version number",
                format!("The version that is settled for {provider} is none. `--upgrade` settles another."),
            )
        })?;
    let hashes = hashes.as_ref().and_then(Value::as_items).unwrap_or_default();
    let hashes = hashes
        .iter()
        .filter_map(|hash| text(Some(hash.clone())))
        .collect();
    let locked = Locked {
        version,
        constraints: text(constraints).unwrap_or_default(),
        hashes,
    };
    Ok((provider, locked))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\nprovider \"registry.terraform.io/hashicorp/random\" {\n  version     = \"3.9.0\"\n  constraints = \
                        \">= 3.0.0\"\n  hashes = [\n    \"h1:b\",\n    \"zh:a\",\n  ]\n}\n\nprovider \
                        \"registry.terraform.io/hashicorp/tls\" {\n  version = \"4.3.0\"\n}\n";

    #[test]
    fn it_is_written_as_it_was_read() {
        let read = LockFile::parse(TEXT.to_owned(), &mut Sources::new()).unwrap();
        assert_eq!(read.0.len(), 2);
        assert_eq!(read.text(), format!("{HEAD}{TEXT}"));
    }

    #[test]
    fn what_is_wrong_with_it_is_told() {
        let check = |text: &str, summary: &str| {
            let told = LockFile::parse(text.to_owned(), &mut Sources::new()).unwrap_err();
            assert_eq!(
                told.iter().next().map(|diag| &*diag.summary),
                Some(summary),
                "{text}"
            );
        };
        check(
            "provider \"a/b/c/d\" {\n  version = \"1.0.0\"\n}\n",
            "Invalid provider source address",
        );
        check("provider \"h.test/a/b\" {\n}\n", "Missing required argument");
        check(
            "provider \"h.test/a/b\" {\n  version = \"new\"\n}\n",
            "Invalid provider version number",
        );
        check("provider \"h.test/a/b\" {\n", "Unclosed configuration block");
    }
}
