//! The hashes by which lock files and mirrors name a package: `h1:` of its files, `zh:` of its archive.
//!
//! Source: Terraform `internal/getproviders/hash.go`, Go `golang.org/x/mod/sumdb/dirhash` (`Hash1`). A hash of another scheme is
//! kept, as it may mean something to others, and nothing has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Seek},
    path::Path,
};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use sha2::{Digest, Sha256};

/// Hashes, each with its scheme.
pub type Hashes = BTreeSet<String>;

/// `h1:` of a folder. `digest` gives the SHA-256 of a file in 64 hex digits.
pub(crate) fn of_folder(folder: &Path, digest: &dyn Fn(&Path) -> io::Result<String>) -> io::Result<String> {
    // A mirror may have linked the folder itself.
    let folder = folder.canonicalize()?;
    let mut files = Vec::new();
    files_below(&folder, "", &mut files)?;
    files.sort();
    let mut hash = Sha256::new();
    for file in files {
        let sum = digest(&folder.join(&file))?;
        hash.update(format!("{sum}  {file}\n"));
    }
    Ok(format!("h1:{}", BASE64_STANDARD.encode(hash.finalize())))
}

/// `h1:` of the files in an archive, which need not be unpacked for it.
pub(crate) fn of_files_in(archive: &File) -> io::Result<String> {
    let mut zip = zip::ZipArchive::new(io::BufReader::new(archive))?;
    let mut sums = BTreeMap::new();
    for at in 0..zip.len() {
        let mut entry = zip.by_index(at)?;
        if entry.is_file() {
            let mut hash = Sha256::new();
            io::copy(&mut entry, &mut hash)?;
            sums.insert(entry.name().to_owned(), hex::encode(hash.finalize()));
        }
    }
    let mut hash = Sha256::new();
    for (name, sum) in sums {
        hash.update(format!("{sum}  {name}\n"));
    }
    Ok(format!("h1:{}", BASE64_STANDARD.encode(hash.finalize())))
}

/// `zh:` of an archive, which is at its beginning after that.
pub(crate) fn of_archive(file: &mut File) -> io::Result<String> {
    file.rewind()?;
    let mut hash = Sha256::new();
    io::copy(file, &mut hash)?;
    file.rewind()?;
    Ok(of_sum(&hex::encode(hash.finalize())))
}

/// `zh:` of an archive whose SHA-256 is known, in hex digits.
pub(crate) fn of_sum(sum: &str) -> String {
    format!("zh:{}", sum.to_ascii_lowercase())
}

/// The SHA-256 of a file, in hex digits.
pub(crate) fn sum_of(path: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    Ok(hex::encode(hash.finalize()))
}

/// Is it a hash that can be checked here?
pub(crate) fn is_known(hash: &str) -> bool {
    if let Some(sum) = hash.strip_prefix("zh:") {
        return is_sum(sum);
    }
    hash.strip_prefix("h1:")
        .and_then(|sum| BASE64_STANDARD.decode(sum).ok())
        .is_some_and(|sum| sum.len() == 32)
}

/// Is it a SHA-256 in hex digits?
pub(crate) fn is_sum(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The files in a folder and below, by their paths from there.
fn files_below(folder: &Path, prefix: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files_below(&entry.path(), &format!("{name}/"), files)?;
        } else {
            files.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_has_the_hash_that_go_gives_it() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("docs")).unwrap();
        fs::write(root.path().join("b"), "two\n").unwrap();
        fs::write(root.path().join("docs/a"), "one\n").unwrap();
        // sha256 of the two lines that `sha256sum b docs/a` writes.
        let want = Sha256::digest(
            "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a  b\n\
             2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806  docs/a\n",
        );
        assert_eq!(
            of_folder(root.path(), &sum_of).unwrap(),
            format!("h1:{}", BASE64_STANDARD.encode(want))
        );
    }

    #[test]
    fn hashes_are_known_by_their_form() {
        let h1 = format!("h1:{}", BASE64_STANDARD.encode([7; 32]));
        for (hash, want) in [
            (&*h1, true),
            (&*of_sum(&"AB".repeat(32)), true),
            ("h1:short", false),
            ("zh:12", false),
            ("h2:x", false),
            ("", false),
        ] {
            assert_eq!(is_known(hash), want, "{hash}");
        }
    }
}
