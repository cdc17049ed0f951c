//! Archives: which kind a name or a first look tells, and their files into a tree.

mod zip_end;

use std::{
    cell::Cell,
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::Path,
    rc::Rc,
    time::Instant,
};

use tar::EntryType;
use zip::ZipArchive;

use self::zip_end::Veiled;
use crate::{
    fault::Fault,
    limits::Limits,
    tree::{Tree, broken, shown, too_large},
};

/// Largest header of an archive that holds a name.
const LARGEST_HEADER: u64 = 64 << 10;

/// Memory that decompression may take, in KiB.
const MOST_MEMORY: u32 = 192 << 10;

/// A kind of archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Zip,
    Tar(Packing),
}

/// How a tar is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    None,
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

/// By the ends of names, as Terraform's getter has them, and zstd.
const ENDS: [(&str, Kind); 13] = [
    ("zip", Kind::Zip),
    ("tar", Kind::Tar(Packing::None)),
    ("tar.gz", Kind::Tar(Packing::Gzip)),
    ("tgz", Kind::Tar(Packing::Gzip)),
    ("tar.bz2", Kind::Tar(Packing::Bzip2)),
    ("tar.tbz2", Kind::Tar(Packing::Bzip2)),
    ("tbz2", Kind::Tar(Packing::Bzip2)),
    ("tar.xz", Kind::Tar(Packing::Xz)),
    ("txz", Kind::Tar(Packing::Xz)),
    ("tar.zst", Kind::Tar(Packing::Zstd)),
    ("tar.zstd", Kind::Tar(Packing::Zstd)),
    ("tzst", Kind::Tar(Packing::Zstd)),
    ("tar.gzip", Kind::Tar(Packing::Gzip)),
];

impl Kind {
    /// What `archive=` names.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ENDS.iter().find(|(end, _)| *end == name).map(|(_, kind)| *kind)
    }

    /// What the end of a path tells.
    pub(crate) fn of_path(path: &str) -> Option<Self> {
        let path = path.to_ascii_lowercase();
        let ending = |end: &str| path.strip_suffix(end).is_some_and(|rest| rest.ends_with('.'));
        ENDS.iter().find(|(end, _)| ending(end)).map(|(_, kind)| *kind)
    }
}

/// Unpacks an archive that is at hand into an empty folder, as one that was fetched is unpacked, and tells the digest of its
/// tree. `kind` is one of the names that `archive=` takes in a module's source. What was made before a fault stays.
pub fn unpack_into(folder: &Path, kind: &str, archive: File, limits: &Limits) -> Result<String, Fault> {
    let kind = Kind::named(kind)
        .ok_or_else(|| Fault::refused(format!("There is no kind of archive called {}.", shown(kind))))?;
    let mut tree = Tree::new(folder, limits, Instant::now() + limits.time);
    unpack(archive, kind, limits, &mut tree)?;
    tree.finish()
}

/// Unpacks an archive into a tree.
pub(crate) fn unpack(file: File, kind: Kind, limits: &Limits, tree: &mut Tree) -> Result<(), Fault> {
    let packed = BufReader::new(file);
    let damaged = |error: io::Error| broken(error);
    let packing = match kind {
        Kind::Zip => return unzip(packed, limits, tree),
        Kind::Tar(packing) => packing,
    };
    match packing {
        Packing::None => untar(packed, limits, tree),
        Packing::Gzip => untar(flate2::bufread::MultiGzDecoder::new(packed), limits, tree),
        Packing::Bzip2 => untar(bzip2::bufread::MultiBzDecoder::new(packed), limits, tree),
        Packing::Xz => untar(
            lzma_rust2::XzReader::new_mem_limit(packed, true, MOST_MEMORY),
            limits,
            tree,
        ),
        Packing::Zstd => untar(zstd::Decoder::with_buffer(packed).map_err(damaged)?, limits, tree),
    }
}

fn untar(content: impl Read, limits: &Limits, tree: &mut Tree) -> Result<(), Fault> {
    // Files have headers, too, and what is no file at all must end as well.
    let most = limits
        .unpacked_bytes
        .saturating_add((limits.files as u64).saturating_mul(2048))
        .saturating_add(1 << 20);
    let bounded = Bounded {
        inner: content,
        left: most,
        limits,
    };
    let mut archive = tar::Archive::new(bounded);
    let (mut long_name, mut long_link, mut size) = (None, None, None);
    // Raw: a name in a header of its own is read here, up to a limit.
    for entry in archive.entries().map_err(broken)?.raw(true) {
        let mut entry = entry.map_err(broken)?;
        let kind = entry.header().entry_type();
        match kind {
            EntryType::XGlobalHeader => continue,
            EntryType::GNULongName => {
                long_name = Some(text(&small(&mut entry)?)?);
                continue;
            }
            EntryType::GNULongLink => {
                long_link = Some(text(&small(&mut entry)?)?);
                continue;
            }
            EntryType::XHeader => {
                let header = small(&mut entry)?;
                for (key, value) in pax(&header)? {
                    match key {
                        "path" => long_name = Some(text(value)?),
                        "linkpath" => long_link = Some(text(value)?),
                        "size" => size = text(value)?.parse::<u64>().ok(),
                        key if key.starts_with("GNU.sparse.") => {
                            return Err(not_a_file(EntryType::GNUSparse, ""));
                        }
                        _ => {}
                    }
                }
                continue;
            }
            _ => {}
        }
        let path = match long_name.take() {
            Some(path) => path,
            None => text(&entry.path_bytes())?,
        };
        let link = match long_link.take() {
            Some(link) => link,
            None => text(&entry.link_name_bytes().unwrap_or_default())?,
        };
        // Two sizes: whoever reads the one finds other files than who reads the other.
        if size.take().is_some_and(|size| size != entry.size()) {
            return Err(Fault::refused(format!(
                "The package is damaged: {} has two sizes.",
                shown(&path)
            )));
        }
        match kind {
            EntryType::Directory => tree.folder(&path)?,
            EntryType::Regular | EntryType::Continuous => {
                // Older archives mark folders by a slash.
                if path.ends_with('/') {
                    tree.folder(&path)?;
                } else {
                    let program = entry.header().mode().unwrap_or(0o644) & 0o111 != 0;
                    tree.file(&path, program, &mut entry)?;
                }
            }
            EntryType::Symlink => tree.link(&path, &link)?,
            kind => return Err(not_a_file(kind, &path)),
        }
    }
    Ok(())
}

fn not_a_file(kind: EntryType, path: &str) -> Fault {
    let what = match kind {
        EntryType::Link => "a hard link",
        EntryType::Char | EntryType::Block => "a device",
        EntryType::Fifo => "a pipe",
        EntryType::GNUSparse => "a file with holes",
        _ => "something unknown",
    };
    let path = shown(path);
    Fault::refused(format!(
        "The package holds {what}, which is neither a file nor a folder: {path}."
    ))
}

fn small(entry: &mut impl Read) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    entry
        .by_ref()
        .take(LARGEST_HEADER + 1)
        .read_to_end(&mut bytes)
        .map_err(broken)?;
    if bytes.len() as u64 > LARGEST_HEADER {
        return Err(Fault::refused("The package holds a name of more than 64 KiB."));
    }
    Ok(bytes)
}

fn text(bytes: &[u8]) -> Result<String, Fault> {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let name = bytes.get(..end).unwrap_or_default();
    String::from_utf8(name.to_vec()).map_err(|_| {
        let name = shown(&String::from_utf8_lossy(name));
        Fault::refused(format!("The package holds a name that is not UTF-8: {name}."))
    })
}

/// The records of a pax header: `LENGTH KEY=VALUE` and a line break.
fn pax(mut header: &[u8]) -> Result<Vec<(&str, &[u8])>, Fault> {
    let malformed = || Fault::refused("The package is damaged: a malformed pax header.");
    let mut records = Vec::new();
    while !header.is_empty() {
        let space = header
            .iter()
            .position(|byte| *byte == b' ')
            .ok_or_else(malformed)?;
        let length: usize = header
            .get(..space)
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(malformed)?;
        let record = header.get(space + 1..length).ok_or_else(malformed)?;
        let record = record.strip_suffix(b"\n").ok_or_else(malformed)?;
        let equals = record
            .iter()
            .position(|byte| *byte == b'=')
            .ok_or_else(malformed)?;
        let (key, value) = record.split_at(equals);
        let key = std::str::from_utf8(key).map_err(|_| malformed())?;
        records.push((key, value.get(1..).unwrap_or_default()));
        header = header.get(length..).ok_or_else(malformed)?;
    }
    Ok(records)
}

fn too_many(limits: &Limits) -> Fault {
    let limit = limits.files;
    Fault::refused(format!(
        "The package holds more than {limit} files, folders and links, which is the limit."
    ))
}

/// Refuses a zip whose list of files is beyond the limit, or can be read in two ways, before anything reads it into memory.
pub fn check_zip(packed: &mut (impl Read + Seek), limits: &Limits) -> Result<(), Fault> {
    zip_end::list_start(packed, limits).map(drop)
}

fn unzip(mut packed: impl Read + Seek, limits: &Limits, tree: &mut Tree) -> Result<(), Fault> {
    let until = Rc::new(Cell::new(zip_end::list_start(&mut packed, limits)?));
    let packed = Veiled {
        inner: packed,
        at: 0,
        until: until.clone(),
    };
    let damaged =
        |error: zip::result::ZipError| Fault::refused(format!("The package is no sound zip file: {error}."));
    let mut archive = ZipArchive::new(packed).map_err(damaged)?;
    until.set(0);
    if archive.len() > limits.files {
        return Err(too_many(limits));
    }
    for at in 0..archive.len() {
        let mut entry = archive.by_index(at).map_err(damaged)?;
        let path = entry.name().to_owned();
        if entry.is_dir() {
            tree.folder(&path)?;
        } else if entry.is_symlink() {
            let target = text(&small(&mut entry)?)?;
            tree.link(&path, &target)?;
        } else if entry.is_file() {
            let program = entry.unix_mode().unwrap_or(0o644) & 0o111 != 0;
            tree.file(&path, program, &mut entry)?;
        } else {
            let path = shown(&path);
            return Err(Fault::refused(format!(
                "The package holds something that is neither a file nor a folder: {path}."
            )));
        }
    }
    Ok(())
}

/// A stream with an end.
struct Bounded<'a, R> {
    inner: R,
    left: u64,
    limits: &'a Limits,
}

impl<R: Read> Read for Bounded<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.left = self
            .left
            .checked_sub(count as u64)
            .ok_or_else(|| io::Error::other(too_large(self.limits)))?;
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
