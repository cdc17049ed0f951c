//! Packages of modules, as anyone may send them.

use std::{
    fs,
    io::{Seek, SeekFrom, Write},
    path::Path,
    time::Duration,
};

use ashlar_sources::{Limits, digest_of_files, unpack_into};

/// Small ones, so that they are reached.
const LIMITS: Limits = Limits {
    package_bytes: 8 << 10,
    unpacked_bytes: 64 << 10,
    files: 64,
    file_bytes: 32 << 10,
    path_depth: 8,
    git_bytes: 0,
    git_objects: 0,
    time: Duration::from_secs(5),
    redirects: 0,
    cache_bytes: 0,
};

/// A zip, or a tar with checksums that are right: no fuzzer hits upon those.
pub(crate) fn archive(input: &[u8]) -> bool {
    if input.starts_with(b"PK") {
        unpacked("zip", input)
    } else {
        unpacked("tar", &summed(input))
    }
}

fn unpacked(kind: &str, bytes: &[u8]) -> bool {
    match unpack(kind, bytes) {
        Ok(was_read) => was_read,
        Err(error) => panic!("this machine has no room for packages: {error}"),
    }
}

fn unpack(kind: &str, bytes: &[u8]) -> std::io::Result<bool> {
    let place = tempfile::tempdir()?;
    let folder = place.path().join("tree");
    fs::create_dir(&folder)?;
    let mut file = tempfile::tempfile()?;
    file.write_all(bytes)?;
    file.seek(SeekFrom::Start(0))?;
    let outcome = unpack_into(&folder, kind, file, &LIMITS);
    assert_eq!(
        fs::read_dir(place.path())?.count(),
        1,
        "something was written beside the folder"
    );
    let (mut entries, mut size) = (0, 0);
    measure(&folder, &mut entries, &mut size)?;
    assert!(
        entries <= LIMITS.files,
        "more files and folders than the limit: {entries}"
    );
    // The chunk that crosses a limit is never written.
    assert!(size <= LIMITS.unpacked_bytes, "more bytes than the limit: {size}");
    if let Ok(digest) = &outcome {
        assert_eq!(
            *digest,
            digest_of_files(&folder)?,
            "the digest is another than that of the files"
        );
    }
    Ok(outcome.is_ok() && entries > 0)
}

/// Counts what lies in a folder; only plain files and folders may.
fn measure(folder: &Path, entries: &mut usize, size: &mut u64) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        assert!(
            kind.is_dir() || kind.is_file(),
            "neither file nor folder: {:?}",
            entry.path()
        );
        *entries += 1;
        if kind.is_dir() {
            measure(&entry.path(), entries, size)?;
        } else {
            *size += entry.metadata()?.len();
        }
    }
    Ok(())
}

/// A tar's block is summed with blanks for the sum.
fn summed(input: &[u8]) -> Vec<u8> {
    const SUM: std::ops::Range<usize> = 148..156;
    let mut bytes = input.to_vec();
    for block in bytes.chunks_exact_mut(512) {
        if block.get(257..262) == Some(b"ustar")
            && let Some(place) = block.get_mut(SUM)
        {
            place.fill(b' ');
            let sum: u32 = block.iter().copied().map(u32::from).sum();
            for (place, digit) in block
                .iter_mut()
                .skip(SUM.start)
                .zip(format!("{sum:06o}\0 ").bytes())
            {
                *place = digit;
            }
        }
    }
    bytes
}
