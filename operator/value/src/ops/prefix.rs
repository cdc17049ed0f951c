//! Which part of a text is certain to stay as it is when more text follows.

use unicode_normalization::UnicodeNormalization;
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
