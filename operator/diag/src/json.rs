//! Strings of JSON text, and how lines and columns are counted in it.
//!
//! Follows hcl's JSON package: a tab between tokens counts two columns, and a place inside a string that was understood
//! is counted in the text that the string stands for, so an escaped line break begins a line. Spans know nothing of
//! this; they are ranges of the file, whatever is counted.

use unicode_segmentation::UnicodeSegmentation;

/// Places behind an escape are further on in the file than in the text that the string stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Escape {
    /// Where what the escape stands for ends in the decoded text.
    pub end: u32,
    /// By how much this and later places lie further on in the file.
    pub shift: u32,
}

/// The text a string stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unquoted {
    /// Escapes resolved; half a surrogate pair is U+FFFD.
    pub text: String,
    /// In order.
    pub escapes: Vec<Escape>,
}

/// The length of the string that the text begins with, quotes included; of one that is not closed, up to the first
/// control character.
pub fn string_length(text: &str) -> usize {
    measure(text).0
}

/// Bytes and columns of the string that the text begins with.
fn measure(text: &str) -> (usize, usize) {
    let (mut at, mut columns, mut escaping) = (1, 1, false);
    while let Some(byte) = text.as_bytes().get(at) {
        let length = match byte {
            b'\\' => {
                escaping = !escaping;
                1
            }
            b'"' if !escaping => return (at + 1, columns + 1),
            b'"' => {
                escaping = false;
                1
            }
            0..32 => break,
            32..128 if text.as_bytes().get(at + 1).is_none_or(u8::is_ascii) => {
                escaping = false;
                1
            }
            _ => {
                escaping = false;
                let rest = text.get(at..).unwrap_or("");
                rest.graphemes(true).next().map_or(1, str::len)
            }
        };
        at += length;
        columns += 1;
    }
    (at, columns)
}

/// Resolves a string, quotes included. An error is how many bytes had been read when the fault was noticed.
pub fn unquote(token: &str) -> Result<Unquoted, usize> {
    let bytes = token.as_bytes();
    let mut out = Unquoted::default();
    let mut shift = 0;
    let mut at = 1;
    loop {
        let plain = token.get(at..).unwrap_or("");
        let length = plain.find(['"', '\\']).ok_or(token.len())?;
        out.text.push_str(plain.get(..length).unwrap_or(""));
        at += length;
        if bytes.get(at) == Some(&b'"') {
            return Ok(out);
        }
        let before = out.text.len();
        let length = escape(token, at, &mut out.text)?;
        at += length;
        shift += length - (out.text.len() - before);
        let place = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        out.escapes.push(Escape {
            end: place(out.text.len()),
            shift: place(shift),
        });
    }
}

/// Resolves the escape at `at`; gives its length.
fn escape(token: &str, at: usize, out: &mut String) -> Result<usize, usize> {
    let simple = match token.as_bytes().get(at + 1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
        Some(b'u') => {
            let unit = unit(token, at + 2)?;
            let next = token.get(at + 6..at + 8) == Some("\\u");
            let low = if next {
                self::unit(token, at + 8).ok()
            } else {
                None
            };
            if let Some(low) = low
                && let Some(Ok(pair)) = char::decode_utf16([unit, low]).next()
                && pair.len_utf16() == 2
            {
                out.push(pair);
                return Ok(12);
            }
            out.push(char::from_u32(u32::from(unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
            return Ok(6);
        }
        Some(_) => return Err(at + 2),
        None => return Err(token.len()),
    };
    out.push(simple);
    Ok(2)
}

/// Four hexadecimal digits.
fn unit(token: &str, at: usize) -> Result<u16, usize> {
    let mut unit = 0u16;
    for at in at..at + 4 {
        let byte = *token.as_bytes().get(at).ok_or(token.len())?;
        let digit = char::from(byte).to_digit(16).ok_or(at + 1)?;
        unit = unit << 4 | u16::try_from(digit).unwrap_or(0);
    }
    Ok(unit)
}

/// The place of a byte offset in one line of JSON: how many lines further on, and the column from 1.
pub(crate) fn count(line: &str, offset: usize) -> (usize, usize) {
    let bytes = line.as_bytes();
    let (mut at, mut column) = (0, 1);
    while at < offset {
        let rest = line.get(at..).unwrap_or("");
        let (length, columns) = match bytes.get(at) {
            None => break,
            Some(b'\t') => (1, 2),
            Some(b'\r') => (1, 0),
            Some(b'"') => {
                let (length, columns) = measure(rest);
                let decoded = rest.get(..length).map_or(Err(0), unquote);
                match decoded {
                    // hcl counts bytes up to the fault, which may be that the string is not closed.
                    Err(_) if offset < at + length || offset == at + length && !is_closed(rest, length) => {
                        return (0, column + offset - at);
                    }
                    Ok(decoded) if offset < at + length => {
                        return inside(&decoded, offset - at - 1, column + 1);
                    }
                    _ => (length, columns),
                }
            }
            Some(_) => (rest.chars().next().map_or(1, char::len_utf8), 1),
        };
        at += length;
        column += columns;
    }
    (0, column)
}

/// Does the string of this length end with a quote that closes it?
fn is_closed(text: &str, length: usize) -> bool {
    length > 1
        && text.as_bytes().get(length - 1) == Some(&b'"')
        && text.as_bytes().get(length - 2) != Some(&b'\\')
}

/// The place of an offset behind a string's quote, whose column is given.
fn inside(string: &Unquoted, offset: usize, start: usize) -> (usize, usize) {
    // The decoded place whose place in the file is the offset, or the nearest before it.
    let mut decoded = 0;
    for (at, _) in string.text.char_indices().chain([(string.text.len(), ' ')]) {
        let seen = string.escapes.partition_point(|escape| escape.end as usize <= at);
        let shift = seen
            .checked_sub(1)
            .and_then(|last| string.escapes.get(last))
            .map_or(0, |escape| escape.shift as usize);
        if at + shift > offset {
            break;
        }
        decoded = at;
    }
    let (mut lines, mut column) = (0, start);
    for cluster in string.text.get(..decoded).unwrap_or("").graphemes(true) {
        if cluster == "\n" || cluster == "\r\n" {
            lines += 1;
            column = 1;
        } else {
            column += 1;
        }
    }
    (lines, column)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_end_at_their_quote_or_where_they_break() {
        for (text, expected) in [
            (r#""a" x"#, 3),
            (r#""a\"b" x"#, 6),
            (r#""a\\" x"#, 5),
            ("\"a\nb\"", 2),
            (r#""e"#, 2),
        ] {
            assert_eq!(string_length(text), expected, "{text}");
        }
    }

    #[test]
    fn escapes_are_resolved() {
        let text = |token| unquote(token).map(|string| string.text);
        assert_eq!(
            text(r#""\"\\\/\b\f\n\r\tA\u00e9""#).unwrap(),
            "\"\\/\u{8}\u{c}\n\r\tAé"
        );
        assert_eq!(text(r#""\ud83d\ude00""#).unwrap(), "😀");
        assert_eq!(
            text(r#""\ud83d!\ude00\ud83d\n""#).unwrap(),
            "\u{fffd}!\u{fffd}\u{fffd}\n"
        );
        assert_eq!(text(r#""\ud83d\ud83d\ude00""#).unwrap(), "\u{fffd}😀");
        assert_eq!(text(r#""a\q""#), Err(4));
        assert_eq!(text(r#""\u12x4""#), Err(6));
        assert_eq!(text(r#""\u12""#), Err(6));
        assert_eq!(text(r#""abc"#), Err(4));
        assert_eq!(text(r#""\"#), Err(2));
    }

    #[test]
    fn places_behind_escapes_are_shifted() {
        let escapes = unquote(r#""a\n\u00e9b""#).unwrap().escapes;
        let expected = [Escape { end: 2, shift: 1 }, Escape { end: 4, shift: 5 }];
        assert_eq!(escapes, expected);
    }

    #[test]
    fn columns_are_counted_as_hcl_does() {
        assert_eq!(count("\t\t\"a\": 1", 7), (0, 10));
        assert_eq!(count("\"é\\n\" :", 6), (0, 6));
        // Inside a string: in what it stands for.
        assert_eq!(count(r#""a\u00e9\tb""#, 10), (0, 5));
        assert_eq!(count(r#""a\nbc""#, 5), (1, 2));
        // Inside a broken one: in bytes.
        assert_eq!(count("\"é\\q\"", 5), (0, 6));
    }
}
