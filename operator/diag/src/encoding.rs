//! Files that are not UTF-8: their bytes are kept, so that the parser can tell of each where it stands.
//!
//! A byte that belongs to no character becomes a character of its own, from the midst of the last plane for private use,
//! where no text has any. Whoever shows a text to people puts the usual mark in its place.

use std::borrow::Cow;

/// Stands for byte 0x80; those of the other bytes follow.
const FIRST: u32 = 0x10_9680;

/// How many more bytes the character takes than what it stands for.
const SURPLUS: usize = 3;

/// The text of a file. In JSON strings a byte that belongs to no character is read as the mark for such, as hcl does, so
/// it is made that at once.
pub fn decode(name: &str, bytes: Vec<u8>) -> String {
    let bytes = match String::from_utf8(bytes) {
        Ok(text) => return text,
        Err(error) => error.into_bytes(),
    };
    let is_json = name.ends_with(".json");
    let mut text = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| {
            let stand_in = char::from_u32(FIRST + (u32::from(*byte) & 0x7f));
            stand_in
                .filter(|_| !is_json)
                .unwrap_or(char::REPLACEMENT_CHARACTER)
        }));
    }
    text
}

/// Does the character stand for a byte that belongs to none?
pub fn is_broken(c: char) -> bool {
    broken_byte(c).is_some()
}

/// The byte that the character stands for, if that belongs to none.
pub fn broken_byte(c: char) -> Option<u8> {
    let place = u32::from(c).checked_sub(FIRST)?;
    u8::try_from(place)
        .ok()
        .filter(|place| *place < 0x80)
        .map(|place| 0x80 | place)
}

/// The text for people.
pub fn shown(text: &str) -> Cow<'_, str> {
    if text.contains(is_broken) {
        text.replace(is_broken, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// How many bytes the text has in its file.
pub(crate) fn length_in_file(text: &str) -> usize {
    text.len() - SURPLUS * text.chars().filter(|c| is_broken(*c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_of_no_character_is_kept_as_one() {
        let text = decode("a.tf", b"a\xe2\x82\"\xff\xc3\xa9".to_vec());
        assert_eq!(shown(&text), "a\u{fffd}\u{fffd}\"\u{fffd}é");
        assert_eq!(text.chars().filter(|c| is_broken(*c)).count(), 3);
        assert_eq!(length_in_file(&text), 7);
        assert_eq!(decode("a.tf.json", b"\"\xe9\"".to_vec()), "\"\u{fffd}\"");
        assert_eq!(decode("a.tf", "é".into()), "é");
    }
}
