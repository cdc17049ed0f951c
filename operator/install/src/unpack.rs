//! Unpacks provider zips.
//!
//! A zip may be hostile: nothing is written outside the target, no link is made, and neither count nor size of its files
//! is without bound. Its list of files says what it needs before anything of it is written, and no file gets more than the list
//! says. Where it is unpacked, how much may be, and what becomes of it, is not decided here.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, Read, Seek},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use ashlar_sources::{Limits, check_zip};
use zip::{ZipArchive, result::ZipError};

/// Most files and folders a package may hold.
const MOST_FILES: usize = 10_000;

/// Most folders inside each other, the file counted.
const DEEPEST: usize = 16;

/// A file takes whole blocks, and a folder takes one, too.
const BLOCK: u64 = 4096;

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
    /// It holds too much.
    #[error("it holds more than {MOST_FILES} files and folders")]
    Many,
    /// It is larger than it says.
    #[error("its entry {0:?} is larger than its list of files says")]
    Larger(String),
    /// It is too large.
    #[error(
        "it unpacks to {} MiB, more than the {} MiB that a package may have here (providers.limits.unpackedMiB in the chart's values, at \
         most cacheMiB)", mib(*.wanted), .most >> 20
    )]
    Large {
        /// Bytes that it needs.
        wanted: u64,
        /// Bytes that it may have.
        most: u64,
    },
    /// There is no room for it.
    #[error(
        "it unpacks to {} MiB, and the cache of providers, which keeps {} MiB at most, holds {} MiB that are in use or being unpacked; \
         wait until fewer providers are in use, or have it keep more (providers.limits.cacheMiB in the chart's values)",
        mib(*.wanted), .most >> 20, mib(*.taken)
    )]
    Full {
        /// Bytes that it needs.
        wanted: u64,
        /// Bytes that the cache may keep.
        most: u64,
        /// Bytes that cannot be freed.
        taken: u64,
    },
    /// The cache could not be written.
    #[error("the cache folder {} could not be written", .0.display())]
    Write(PathBuf, #[source] io::Error),
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// What a file of so many bytes takes on a disk.
pub(crate) fn on_disk(bytes: u64) -> u64 {
    bytes.max(1).checked_next_multiple_of(BLOCK).unwrap_or(u64::MAX)
}

/// What a folder takes on a disk, beside what is in it.
pub(crate) const FOLDER_ON_DISK: u64 = BLOCK;

/// An archive whose list of files was read.
pub(crate) struct Packed<'a> {
    archive: ZipArchive<io::BufReader<&'a File>>,
    /// Of each entry, in order: where it belongs, and its bytes if it is a file.
    entries: Vec<(PathBuf, Option<u64>)>,
    size: u64,
}

impl<'a> Packed<'a> {
    /// Reads and judges the list of files.
    pub(crate) fn open(mut file: &'a File) -> Result<Self, UnpackError> {
        let limits = Limits {
            files: MOST_FILES,
            ..Limits::default()
        };
        check_zip(&mut file, &limits)
            .map_err(|fault| UnpackError::Zip(ZipError::Io(io::Error::other(fault.to_string()))))?;
        file.rewind().map_err(UnpackError::Read)?;
        let mut archive = ZipArchive::new(io::BufReader::new(file)).map_err(UnpackError::Zip)?;
        if archive.len() > MOST_FILES {
            return Err(UnpackError::Many);
        }
        let mut folders = BTreeSet::new();
        let mut entries = Vec::new();
        let (mut files, mut size) = (0, 0u64);
        for at in 0..archive.len() {
            let entry = archive.by_index_raw(at).map_err(UnpackError::Zip)?;
            let inside = entry
                .enclosed_name()
                .filter(|path| path.components().count() <= DEEPEST);
            let (Some(path), true) = (inside, entry.is_dir() || entry.is_file()) else {
                return Err(UnpackError::Entry(shown(entry.name())));
            };
            let bytes = entry.is_file().then(|| entry.size());
            // An entry that is a folder counts as one of its own, its parents by the way.
            let own = usize::from(bytes.is_some());
            folders.extend(path.ancestors().skip(own).map(Path::to_owned));
            files += own;
            // The folder that all is unpacked to is among them.
            if folders.len() + files > MOST_FILES + 1 {
                return Err(UnpackError::Many);
            }
            size = size.saturating_add(bytes.map_or(0, on_disk));
            entries.push((path, bytes));
        }
        let folders = folders.len().saturating_sub(1);
        size = size.saturating_add(FOLDER_ON_DISK * folders as u64);
        Ok(Self {
            archive,
            entries,
            size,
        })
    }

    /// What its files and folders take on a disk, as it says.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Unpacks it into a folder that is there and empty. What was unpacked before a fault stays: it is the caller's to remove.
    pub(crate) fn extract(mut self, target: &Path) -> Result<(), UnpackError> {
        for (at, (inside, bytes)) in self.entries.iter().enumerate() {
            let path = target.join(inside);
            let unwritable = |error| UnpackError::Write(path.clone(), error);
            let Some(bytes) = *bytes else {
                fs::create_dir_all(&path).map_err(unwritable)?;
                continue;
            };
            let entry = self.archive.by_index(at).map_err(UnpackError::Zip)?;
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
            let name = shown(entry.name());
            // Room was made for what the list says, which may lie.
            let mut bounded = entry.take(bytes);
            io::copy(&mut bounded, &mut output).map_err(|error| UnpackError::Zip(ZipError::Io(error)))?;
            let mut rest = bounded.into_inner();
            let more = rest
                .read(&mut [0])
                .map_err(|error| UnpackError::Zip(ZipError::Io(error)))?;
            if more > 0 {
                return Err(UnpackError::Larger(name));
            }
            // What has its name in the cache is whole, also after the machine failed.
            output.sync_all().map_err(unwritable)?;
        }
        Ok(())
    }
}

fn shown(name: &str) -> String {
    name.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::{ZipWriter, write::SimpleFileOptions};

    use super::*;

    fn zip(build: impl FnOnce(&mut ZipWriter<File>)) -> File {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        build(&mut writer);
        writer.finish().unwrap()
    }

    /// What it needs, and what came of it.
    fn check(zip: &File, expected: Result<(u64, &[&str]), &str>) {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("target");
        fs::create_dir(&target).unwrap();
        let extract = || {
            let packed = Packed::open(zip)?;
            let size = packed.size();
            packed.extract(&target)?;
            Ok(size)
        };
        let got = extract().map_err(|error: UnpackError| error.to_string());
        let names: Vec<String> = {
            let entries = fs::read_dir(target).unwrap();
            let mut names: Vec<_> = entries
                .map(|entry| entry.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        };
        let got = got.as_ref().map(|size| (*size, names));
        let expected = expected.map(|(size, names)| (size, names.iter().map(ToString::to_string).collect()));
        assert_eq!(got.map_err(|error| &**error), expected);
        assert!(!root.path().join("evil").exists());
    }

    fn file(writer: &mut ZipWriter<File>, name: &str, content: &[u8]) {
        writer.start_file(name, SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }

    #[test]
    fn plain() {
        let packed = zip(|writer| {
            file(writer, "terraform-provider-x", b"bin");
            let options = SimpleFileOptions::default();
            writer.add_directory("docs", options).unwrap();
            file(writer, "docs/a", b"a");
            file(writer, "docs/b", &[1; 5000]);
        });
        // Two blocks for b, and one for the folder.
        check(&packed, Ok((5 * 4096, &["docs", "terraform-provider-x"])));
    }

    #[test]
    fn hostile() {
        check(
            &zip(|writer| file(writer, "../../evil", b"x")),
            Err("its entry \"../../evil\" is not a plain file inside the package"),
        );
        check(
            &zip(|writer| {
                let options = SimpleFileOptions::default();
                writer.add_symlink("link", "/etc", options).unwrap()
            }),
            Err("its entry \"link\" is not a plain file inside the package"),
        );
        let deep = "d/".repeat(DEEPEST) + "f";
        let told = format!("its entry {deep:?} is not a plain file inside the package");
        check(&zip(|writer| file(writer, &deep, b"x")), Err(&told));
    }

    #[test]
    fn zeros_need_what_they_unpack_to() {
        let bomb = zip(|writer| file(writer, "zeros", &vec![0; 50 << 20]));
        assert!(bomb.metadata().unwrap().len() < 100_000);
        assert_eq!(Packed::open(&bomb).unwrap().size(), 50 << 20);
    }

    #[test]
    fn folders_that_nobody_names_count_too() {
        let many = zip(|writer| {
            for at in 0..2000 {
                file(writer, &format!("{at}/a/b/c/d/f"), b"");
            }
        });
        check(&many, Err("it holds more than 10000 files and folders"));
    }

    #[test]
    fn a_file_that_is_larger_than_the_list_says_is_refused() {
        use std::os::unix::fs::FileExt;
        let bomb = zip(|writer| file(writer, "zeros", &[0; 5000]));
        let mut bytes = Vec::new();
        (&bomb).rewind().unwrap();
        (&bomb).read_to_end(&mut bytes).unwrap();
        let entry = bytes.windows(4).position(|four| four == b"PK\x01\x02").unwrap();
        let size = entry as u64 + 24;
        for (told, refused) in [(4999u32, true), (5000, false)] {
            bomb.write_all_at(&told.to_le_bytes(), size).unwrap();
            match refused {
                true => check(
                    &bomb,
                    Err("its entry \"zeros\" is larger than its list of files says"),
                ),
                false => check(&bomb, Ok((8192, &["zeros"]))),
            }
        }
    }
}
