//! Which part of a text is certain to stay as it is when more text follows.

use unicode_normalization::{
    UnicodeNormalization,
    char::{canonical_combining_class, compose, is_combining_mark},
};
use unicode_segmentation::UnicodeSegmentation;

/// Characters that never join with what follows them; single ones at the end are kept (cty's list of delimiters).
const DELIMITERS: &str = "-_:;/\\,.(){}[]|?!~ \t@#$%^&*+\"'";

/// The text in NFC without its last grapheme cluster, which what follows could still change; a final delimiter stays.
///
/// Source: cty `ctystrings.SafeKnownPrefix`. Where cty also stops at the last normalisation boundary, dropping the last
/// cluster covers it, since NFC composition never crosses a cluster.
pub fn safe_prefix(text: &str) -> String {
    let mut text: String = text.nfc().collect();
    if let Some((at, last)) = text.grapheme_indices(true).next_back() {
        let mut chars = last.chars();
        let single = (chars.next(), chars.next());
        if !matches!(single, (Some(only), None) if DELIMITERS.contains(only)) {
            text.truncate(at);
        }
    }
    text
}

/// At most so many bytes of a prefix, of which each stays certain.
///
/// Source: what cty's MessagePack writer gets by cutting bytes: a cut inside a character leaves all before it, unless
/// the last could compose with what follows; one between characters drops the last cluster as [`safe_prefix`] does.
pub(crate) fn shorten_prefix(prefix: &str, longest: usize) -> String {
    let Some(cut) = prefix.get(..prefix.floor_char_boundary(longest)) else {
        return String::new();
    };
    match cut.chars().next_back() {
        Some(last) if cut.len() < longest && is_inert(last) => cut.to_owned(),
        _ => safe_prefix(cut),
    }
}

/// Does normalisation leave the character alone, whatever stands before or behind it?
fn is_inert(c: char) -> bool {
    // Whatever composes with a character before it is a combining mark, or a vowel or final of Hangul.
    let second = |mark: u32| char::from_u32(mark).is_some_and(|mark| compose(c, mark).is_some());
    canonical_combining_class(c) == 0
        && !is_combining_mark(c)
        && std::iter::once(c).nfd().eq([c])
        && ![0x1161, 0x11a8, 0x3099, 0x0338].into_iter().any(second)
        && !(0x0300..0x0346).any(second)
        && !(0x0653..0x0656).any(second)
}
