//! Unpacks provider zips.
//!
//! A zip may be hostile: nothing is written outside the target, no link is made, and neither count nor size of its files
//! is without bound. Where it is unpacked, and what becomes of it, is not decided here.

use std::{
    fs::{self, File},
    io::{self, Read, Seek},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use ashlar_sources::{Limits, check_zip};
use zip::{ZipArchive, result::ZipError};

/// Most files a package may hold.
const MOST_FILES: usize = 10_000;
/// Most bytes it may unpack to; the largest providers have less than 1 GiB.
const MOST_BYTES: u64 = 4 << 30;

/// Most folders inside each other, the file counted.
const DEEPEST: usize = 16;

/// Why a zip was not unpacked.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// It could not be read.
    #[error("it could not be read")]
    Read(#[source] io::Error),
    /// It is no zip, or a broken one.
    #[error("it is not a sound zip file")]
    Zip(#[source] ZipError),
    /// It would write elsewhere, or holds something else than files and folders.
    #[error("its entry {0:?} is not a plain file inside the package")]
    Entry(String),
    /// It is too large.
    #[error("it holds more than {MOST_FILES} files or more than {MOST_BYTES} bytes")]
    Large,
    /// The cache could not be written.
    #[error("the cache folder {} could not be written", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

/// Unpacks an archive into a folder that is there and empty. What was unpacked before a fault stays: it is the caller's to remove.
pub(crate) fn extract(archive: &File, target: &Path) -> Result<(), UnpackError> {
    extract_within(archive, target, MOST_BYTES)
}

fn extract_within(mut file: &File, target: &Path, most_bytes: u64) -> Result<(), UnpackError> {
    let limits = Limits {
        files: MOST_FILES,
        ..Limits::default()
    };
    check_zip(&mut file, &limits)
        .map_err(|fault| UnpackError::Zip(ZipError::Io(io::Error::other(fault.to_string()))))?;
    file.rewind().map_err(UnpackError::Read)?;
    let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(UnpackError::Zip)?;
    if archive.len() > MOST_FILES {
        return Err(UnpackError::Large);
    }
    let mut left = most_bytes;
    for at in 0..archive.len() {
        let entry = archive.by_index(at).map_err(UnpackError::Zip)?;
        let foreign = || UnpackError::Entry(entry.name().chars().take(200).collect());
        let inside = entry
            .enclosed_name()
            .filter(|path| path.components().count() <= DEEPEST);
        let path = target.join(inside.ok_or_else(foreign)?);
        let unwritable = |error| UnpackError::Write(path.clone(), error);
        if entry.is_dir() {
            fs::create_dir_all(&path).map_err(unwritable)?;
            continue;
        }
        if !entry.is_file() {
            return Err(foreign());
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(unwritable)?;
        }
        let mode = entry.unix_mode().unwrap_or(0o755) & 0o755 | 0o400;
        let mut output = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path)
            .map_err(unwritable)?;
        // The sizes in the zip may lie: what comes out counts.
        let mut bounded = entry.take(left.saturating_add(1));
        let count =
            io::copy(&mut bounded, &mut output).map_err(|error| UnpackError::Zip(ZipError::Io(error)))?;
        left = left.checked_sub(count).ok_or(UnpackError::Large)?;
        // What has its name in the cache is whole, also after the machine failed.
        output.sync_all().map_err(unwritable)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn check(build: impl FnOnce(&mut ZipWriter<File>), most_bytes: u64, expected: Result<&[&str], &str>) {
        let root = tempfile::tempdir().unwrap();
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        build(&mut writer);
        let zip = writer.finish().unwrap();
        let target = root.path().join("target");
        fs::create_dir(&target).unwrap();
        let got = extract_within(&zip, &target, most_bytes).map_err(|error| error.to_string());
        let got = got.map(|()| {
            let mut names: Vec<String> = fs::read_dir(target)
                .unwrap()
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        });
        let expected = expected.map(|names| names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(got, expected.map_err(str::to_owned));
        assert!(!root.path().join("evil").exists());
    }

    fn file(writer: &mut ZipWriter<File>, name: &str, content: &[u8]) {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }

    #[test]
    fn plain() {
        let build = |writer: &mut ZipWriter<File>| {
            file(writer, "terraform-provider-x", b"bin");
            writer
                .add_directory("docs", SimpleFileOptions::default())
                .unwrap();
            file(writer, "docs/a", b"a");
        };
        check(build, 100, Ok(&["docs", "terraform-provider-x"]));
    }

    #[test]
    fn hostile() {
        check(
            |writer| file(writer, "../../evil", b"x"),
            100,
            Err("its entry \"../../evil\" is not a plain file inside the package"),
        );
        check(
            |writer| {
                writer
                    .add_symlink("link", "/etc", SimpleFileOptions::default())
                    .unwrap()
            },
            100,
            Err("its entry \"link\" is not a plain file inside the package"),
        );
        let bomb = |writer: &mut ZipWriter<File>| file(writer, "zeros", &[0; 5000]);
        check(
            bomb,
            4999,
            Err("it holds more than 10000 files or more than 4294967296 bytes"),
        );
        check(bomb, 5000, Ok(&["zeros"]));
    }
}
