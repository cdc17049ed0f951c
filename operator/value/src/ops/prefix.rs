//! Which part of a text is certain to stay as it is when more text follows.
//!
//! Source: cty `ctystrings.SafeKnownPrefix`, with what the Unicode tables of Go do for it. The result goes on the wire,
//! so it must be that of cty to the byte.

use std::ops::RangeInclusive;

use unicode_normalization::{
    IsNormalized, UnicodeNormalization,
    char::{canonical_combining_class, compose},
    is_nfc_quick,
};
use unicode_segmentation::UnicodeSegmentation;

/// Characters that never join with what follows them; a single one at the end is kept (cty's list).
const DELIMITERS: &str = "-_:;/\\,.(){}[]|?!~ \t@#$%^&*+\"'";

/// The second characters of all compositions in NFC.
const SECONDS: &[RangeInclusive<u32>] = &[
    0x300..=0x304,
    0x306..=0x30c,
    0x30f..=0x30f,
    0x311..=0x311,
    0x313..=0x314,
    0x31b..=0x31b,
    0x323..=0x328,
    0x32d..=0x32e,
    0x330..=0x331,
    0x338..=0x338,
    0x342..=0x342,
    0x345..=0x345,
    0x653..=0x655,
    0x93c..=0x93c,
    0x9be..=0x9be,
    0x9d7..=0x9d7,
    0xb3e..=0xb3e,
    0xb56..=0xb57,
    0xbbe..=0xbbe,
    0xbd7..=0xbd7,
    0xc56..=0xc56,
    0xcc2..=0xcc2,
    0xcd5..=0xcd6,
    0xd3e..=0xd3e,
    0xd57..=0xd57,
    0xdca..=0xdca,
    0xdcf..=0xdcf,
    0xddf..=0xddf,
    0x102e..=0x102e,
    0x1161..=0x1161,
    0x11a8..=0x11a8,
    0x1b35..=0x1b35,
    0x3099..=0x309a,
    0x110ba..=0x110ba,
    0x11127..=0x11127,
    0x1133e..=0x1133e,
    0x11357..=0x11357,
    0x114b0..=0x114b0,
    0x114ba..=0x114ba,
    0x114bd..=0x114bd,
    0x115af..=0x115af,
    0x11930..=0x11930,
];

/// The text in NFC without what following text could still change: the last character that could compose, else the last
/// grapheme cluster unless it is a delimiter. A carriage return or newline alone ends it too.
pub fn safe_prefix(text: &str) -> String {
    let mut text: String = text.nfc().collect();
    let length = last_boundary(&text).unwrap_or_else(|| whole_clusters(&text));
    text.truncate(length);
    text
}

/// Where the last character stands that could compose with following text, together with the marks behind it; `None`
/// if the last character takes no part in normalisation.
fn last_boundary(text: &str) -> Option<usize> {
    let last = text.chars().next_back()?;
    if is_inert(last) {
        return None;
    }
    text.char_indices()
        .rev()
        .find(|(_, c)| starts_composition(*c))
        .map(|(at, _)| at)
}

/// Does nothing before the character compose with it?
fn starts_composition(c: char) -> bool {
    canonical_combining_class(c) == 0 && is_nfc_quick(std::iter::once(c)) != IsNormalized::Maybe
}

/// Does normalisation leave the character alone, whatever stands before or behind it?
fn is_inert(c: char) -> bool {
    let mut seconds = SECONDS.iter().flat_map(Clone::clone).filter_map(char::from_u32);
    starts_composition(c)
        && std::iter::once(c).nfd().eq([c])
        && !seconds.any(|second| compose(c, second).is_some())
}

/// The length of the text up to the end of the last cluster that is certainly complete.
fn whole_clusters(text: &str) -> usize {
    let mut last = (0, "");
    for (at, cluster) in text.grapheme_indices(true) {
        // The scanner that cty uses waits for more text here.
        if matches!(cluster, "\r" | "\n") {
            return at;
        }
        last = (at, cluster);
    }
    let (at, cluster) = last;
    let mut chars = cluster.chars();
    match (chars.next(), chars.next()) {
        (Some(only), None) if DELIMITERS.contains(only) => text.len(),
        _ => at,
    }
}

/// At most so many bytes of a prefix, of which each stays certain.
///
/// Source: what cty's MessagePack writer gets by cutting bytes. A cut inside a character leaves all before it, unless
/// the last could compose; a cut between characters is treated as [`safe_prefix`] does.
pub(crate) fn shorten_prefix(prefix: &str, longest: usize) -> String {
    let mut cut = prefix
        .get(..prefix.floor_char_boundary(longest))
        .unwrap_or_default()
        .to_owned();
    if cut.len() == longest {
        return safe_prefix(&cut);
    }
    cut.truncate(last_boundary(&cut).unwrap_or(cut.len()));
    cut
}
