//! The end of a zip: where its list of files is, before that is read into memory.

use std::{
    cell::Cell,
    io::{self, Read, Seek, SeekFrom},
    rc::Rc,
};

use super::too_many;
use crate::{fault::Fault, limits::Limits, tree::broken};

/// Largest list of files.
const LARGEST_LIST: u64 = 64 << 20;
/// Bytes of the last record without its comment, of the one that leads to the large form's record, of that, and of the
/// shortest entry in the list.
const END: u64 = 22;
const LOCATOR: u64 = 20;
const RECORD: u64 = 56;
const ENTRY: u64 = 46;

const END_MARK: &[u8] = b"PK\x05\x06";

fn unsound(why: &str) -> Fault {
    Fault::refused(format!("The package is no sound zip file: {why}."))
}

/// Where the list of files begins. The end is where the file ends, and there is one: a zip that can be read in two ways is
/// refused, and so is one whose list is beyond the limit or longer than the file has room for.
pub(super) fn list_start(packed: &mut (impl Read + Seek), limits: &Limits) -> Result<u64, Fault> {
    let length = packed.seek(SeekFrom::End(0)).map_err(broken)?;
    // The comment has at most 65,535 bytes.
    let tail_start = length.saturating_sub(END + 0xffff);
    let tail = bytes_at(packed, tail_start, length - tail_start)?;
    let at = tail.windows(4).rposition(|window| window == END_MARK);
    let at = at.ok_or_else(|| unsound("it has no end"))?;
    let end = tail.get(at..).unwrap_or_default();
    let (here, entries) = (number(end, 8, 2), number(end, 10, 2));
    let (size, offset) = (number(end, 12, 4), number(end, 16, 4));
    if END + number(end, 20, 2) != end.len() as u64 {
        return Err(unsound("its end is not where the file ends"));
    }
    if here != entries {
        return Err(unsound("it is one of several parts"));
    }
    let end_at = tail_start + at as u64;
    let large = if entries == 0xffff || offset == 0xffff_ffff {
        large_form(packed, end_at)?
    } else {
        None
    };
    let list = large.unwrap_or(List {
        entries,
        size,
        offset,
        end: end_at,
    });
    if list.entries > limits.files as u64 {
        return Err(too_many(limits));
    }
    let start = list.end.checked_sub(list.size).filter(|start| {
        list.offset <= *start && end_at - start <= LARGEST_LIST && list.entries * ENTRY <= list.size
    });
    let start = start.ok_or_else(|| unsound("its list of files is not where it says, or larger"))?;
    let text = bytes_at(packed, start, end_at - start)?;
    if text.windows(4).any(|window| window == END_MARK) {
        return Err(unsound("it has two ends"));
    }
    packed.rewind().map_err(broken)?;
    Ok(start)
}

/// What an end tells of the list.
struct List {
    entries: u64,
    size: u64,
    offset: u64,
    end: u64,
}

/// For more than 65,535 files or 4 GiB (zip64).
fn large_form(packed: &mut (impl Read + Seek), end_at: u64) -> Result<Option<List>, Fault> {
    let Some(locator_at) = end_at.checked_sub(LOCATOR) else {
        return Ok(None);
    };
    let locator = bytes_at(packed, locator_at, LOCATOR)?;
    if !locator.starts_with(b"PK\x06\x07") {
        return Ok(None);
    }
    let place = number(&locator, 8, 8);
    let record = bytes_at(packed, place.min(locator_at), RECORD)?;
    let end = place.saturating_add(12).saturating_add(number(&record, 4, 8));
    if !record.starts_with(b"PK\x06\x06") || end != locator_at {
        return Err(unsound("its end leads to none of the large form"));
    }
    Ok(Some(List {
        entries: number(&record, 32, 8),
        size: number(&record, 40, 8),
        offset: number(&record, 48, 8),
        end: place,
    }))
}

fn bytes_at(packed: &mut (impl Read + Seek), at: u64, count: u64) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    packed
        .seek(SeekFrom::Start(at))
        .and_then(|_| packed.take(count).read_to_end(&mut bytes))
        .map_err(broken)?;
    Ok(bytes)
}

/// A number in the least significant order; what is beyond the end counts for zero.
fn number(bytes: &[u8], at: usize, size: usize) -> u64 {
    let digits = bytes.get(at..at + size).unwrap_or_default();
    digits
        .iter()
        .rev()
        .fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// A zip of which what lies in front of its list is hidden until the list was read: the reader of zips looks for another
/// list in the whole file if it does not like the last one.
pub(super) struct Veiled<R> {
    pub(super) inner: R,
    pub(super) at: u64,
    /// Zeros up to here.
    pub(super) until: Rc<Cell<u64>>,
}

impl<R: Read + Seek> Read for Veiled<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let hidden = self.until.get().saturating_sub(self.at);
        let count = if hidden == 0 {
            self.inner.read(buffer)?
        } else {
            let count = buffer.len().min(usize::try_from(hidden).unwrap_or(usize::MAX));
            buffer.iter_mut().take(count).for_each(|byte| *byte = 0);
            self.inner.seek(SeekFrom::Start(self.at + count as u64))?;
            count
        };
        self.at += count as u64;
        Ok(count)
    }
}

impl<R: Seek> Seek for Veiled<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.at = self.inner.seek(to)?;
        Ok(self.at)
    }
}
