//! Source texts and byte ranges in them.
//!
//! A [`Span`] is four machine words at most and copied freely; only [`Sources`] turns it into lines and columns, and
//! only when a person is to read it. Columns count grapheme clusters from 1, as Terraform's do (hcl `pos_scanner.go`).

use std::sync::{Arc, OnceLock};

use crate::{encoding::length_in_file, json};
use unicode_segmentation::UnicodeSegmentation;

/// Index of a file in its [`Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A byte range `[start, end)` in one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file the range lies in.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// First byte after the range; never before `start`.
    pub end: u32,
}

impl Span {
    /// The range `[start, end)` of `file`; an `end` before `start` gives the empty range at `start`.
    pub fn new(file: FileId, start: usize, end: usize) -> Self {
        let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Self {
            file,
            start: clamp(start),
            end: clamp(end.max(start)),
        }
    }

    /// The smallest range that holds both; `other` must be of the same file, else `self` comes back.
    #[must_use]
    pub fn to(self, other: Span) -> Span {
        if self.file != other.file {
            return self;
        }
        Span {
            file: self.file,
            start: self.start.min(other.start),
            end: self.end.max(other.end),
        }
    }

    /// The empty range at the end of this one.
    #[must_use]
    pub fn end_point(self) -> Span {
        Span {
            start: self.end,
            ..self
        }
    }
}

/// A place for people: 1-based line, 1-based column in grapheme clusters, byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineColumn {
    /// Line, from 1.
    pub line: usize,
    /// Column in grapheme clusters, from 1.
    pub column: usize,
    /// Byte offset from the start of the file.
    pub byte: usize,
}

/// A span resolved for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name as it was given when the source was added.
    pub file: Arc<str>,
    /// Where the range starts.
    pub start: LineColumn,
    /// Where it ends (exclusive).
    pub end: LineColumn,
}

/// One source text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Name shown to people, relative to the root module.
    pub name: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    line_starts: Arc<[u32]>,
    seams: Arc<OnceLock<Box<[u32]>>>,
}

impl Source {
    /// Says between which characters columns are counted anew, as byte offsets in order: a character that would join
    /// the one before it into a cluster has a column of its own there. Whoever makes tokens of the text knows.
    pub fn set_seams(&self, seams: Vec<u32>) {
        // The same text has the same tokens, so the first to say it has said it.
        let _ = self.seams.set(seams.into_boxed_slice());
    }

    /// The byte offset at which each line starts.
    pub fn line_starts(&self) -> &[u32] {
        &self.line_starts
    }

    /// The text of 1-based `line` without its line break; empty beyond the end.
    pub fn line(&self, line: usize) -> &str {
        let Some(start) = line.checked_sub(1).and_then(|at| self.line_starts.get(at)) else {
            return "";
        };
        let end = self
            .line_starts
            .get(line)
            .map_or(self.text.len(), |next| *next as usize);
        self.text
            .get(*start as usize..end)
            .unwrap_or("")
            .trim_end_matches(['\n', '\r'])
    }

    /// Is it JSON text? Its name tells.
    pub fn is_json(&self) -> bool {
        self.name.ends_with(".json")
    }

    /// Where a byte of the text stands in its file.
    pub fn byte_in_file(&self, byte: usize) -> usize {
        self.text.get(..byte).map_or(byte, length_in_file)
    }

    /// The 1-based line that holds a byte offset.
    pub fn line_of(&self, byte: usize) -> usize {
        self.line_starts
            .partition_point(|start| *start as usize <= byte)
            .max(1)
    }

    /// Line and column of a byte offset, as Terraform tells them; an offset beyond the end or inside a character is
    /// moved back. Places inside strings of JSON are counted in the text the string stands for.
    pub fn locate(&self, byte: usize) -> LineColumn {
        let mut byte = byte.min(self.text.len());
        let line = self.line_of(byte);
        let start = self.line_starts.get(line - 1).map_or(0, |start| *start as usize);
        if self.is_json() {
            let (further, column) = json::count(self.text.get(start..).unwrap_or(""), byte - start);
            return LineColumn {
                line: line + further,
                column,
                byte,
            };
        }
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = self.text.get(start..byte).unwrap_or("");
        // A byte order mark takes part in offsets, but no editor shows it.
        let before = if line == 1 {
            before.strip_prefix('\u{feff}').unwrap_or(before)
        } else {
            before
        };
        let mut rest = before;
        let mut column = 1;
        let first = byte - before.len();
        for seam in self.seams.get().into_iter().flat_map(|seams| {
            let from = seams.partition_point(|seam| *seam as usize <= first);
            seams.get(from..).unwrap_or(&[])
        }) {
            let at = (*seam as usize).checked_sub(byte - rest.len());
            let Some((counted, after)) = at.and_then(|at| rest.split_at_checked(at)) else {
                break;
            };
            column += counted.graphemes(true).count();
            rest = after;
        }
        column += rest.graphemes(true).count();
        LineColumn { line, column, byte }
    }
}

/// All source texts of one run; append-only, so that a [`Span`] stays valid.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    files: Vec<Source>,
}

impl Sources {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a text and returns its id. The same name may be added again: it is another file.
    pub fn add(&mut self, name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> FileId {
        let text: Arc<str> = text.into();
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let line_starts = std::iter::once(0)
            .chain(breaks.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX)))
            .collect();
        self.files.push(Source {
            name: name.into(),
            text,
            line_starts,
            seams: Arc::default(),
        });
        FileId(u32::try_from(self.files.len() - 1).unwrap_or(u32::MAX))
    }

    /// The source with this id, if it was added here.
    pub fn get(&self, file: FileId) -> Option<&Source> {
        self.files.get(file.0 as usize)
    }

    /// All sources with their ids, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &Source)> {
        self.files
            .iter()
            .enumerate()
            .map(|(at, source)| (FileId(u32::try_from(at).unwrap_or(u32::MAX)), source))
    }

    /// The text of a span; `None` if it does not lie in these sources.
    pub fn text(&self, span: Span) -> Option<&str> {
        self.get(span.file)?
            .text
            .get(span.start as usize..span.end as usize)
    }

    /// Resolves a span for people.
    pub fn place(&self, span: Span) -> Option<Place> {
        let source = self.get(span.file)?;
        Some(Place {
            file: source.name.clone(),
            start: source.locate(span.start as usize),
            end: source.locate(span.end as usize),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seam_parts_a_cluster() {
        let mut sources = Sources::new();
        let file = sources.add("a.tf", "a\n\"\u{301}x\"\n");
        let column = |sources: &Sources| sources.get(file).unwrap().locate(5).column;
        assert_eq!(column(&sources), 2);
        sources.get(file).unwrap().set_seams(vec![3]);
        assert_eq!(column(&sources), 3);
    }

    #[test]
    fn columns_count_grapheme_clusters() {
        let mut sources = Sources::new();
        let file = sources.add("a.tf", "a\ne\u{301}x\n");
        let place = sources.place(Span::new(file, 5, 6)).unwrap();
        assert_eq!(
            (place.start.line, place.start.column, place.start.byte),
            (2, 2, 5)
        );
        assert_eq!(sources.get(file).unwrap().line(2), "e\u{301}x");
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let mut sources = Sources::new();
        let file = sources.add("a.tf", "\u{feff}ab");
        let place = sources.place(Span::new(file, 3, 4)).unwrap();
        assert_eq!((place.start.column, place.start.byte), (1, 3));
    }

    #[test]
    fn an_offset_beyond_the_end_is_moved_back() {
        let mut sources = Sources::new();
        let file = sources.add("a.tf", "ab");
        assert_eq!(sources.place(Span::new(file, 9, 12)).unwrap().end.column, 3);
    }
}
