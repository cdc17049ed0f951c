//! The look of JSON in state files: compact in memory, indented on disk.
//!
//! Both forms are Go's (`encoding/json` with HTML escaping), so that what Terraform would write is what is written here.
//! Works on text that is known to be JSON, byte by byte and without recursion; it never judges what the JSON says.

use ashlar_value::{Value, json};

/// How deep JSON may nest. Indentation makes depth cost quadratic, and no type comes near this.
const MAX_DEPTH: usize = 128;

/// Without white space between tokens, `<`, `>`, `&` and the two line separators escaped; `None` if it nests too deep.
pub(crate) fn compact(text: &str) -> Option<Vec<u8>> {
    write(text.as_bytes(), false)
}

/// As [`compact`], with each element on its own line, two spaces a level.
pub(crate) fn indent(text: &[u8]) -> Option<Vec<u8>> {
    write(text, true)
}

fn write(json: &[u8], pretty: bool) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len() + if pretty { json.len() / 2 } else { 0 });
    let mut depth = 0_usize;
    // A line break is owed after an opening bracket, unless the closing one follows at once.
    let mut opened = false;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        if byte == b'"' {
            break_line(&mut out, pretty && std::mem::take(&mut opened), depth);
            at = string(json, at, &mut out);
            continue;
        }
        at += 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'{' | b'[' => {
                break_line(&mut out, pretty && opened, depth);
                out.push(byte);
                depth += 1;
                opened = true;
                if depth > MAX_DEPTH {
                    return None;
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                break_line(&mut out, pretty && !std::mem::take(&mut opened), depth);
                out.push(byte);
            }
            b',' => {
                out.push(byte);
                break_line(&mut out, pretty, depth);
            }
            b':' => out.extend_from_slice(if pretty { b": " } else { b":" }),
            _ => {
                break_line(&mut out, pretty && std::mem::take(&mut opened), depth);
                out.push(byte);
            }
        }
    }
    Some(out)
}

/// Can an output with this value be held by a state file, or does it nest too deep?
pub fn can_hold(value: &Value) -> bool {
    // The file has levels of its own around it.
    const AROUND: usize = 8;
    let ty = json::type_to_json(&value.ty()).to_string();
    let within = [&*"[".repeat(AROUND), &*ty, &*"]".repeat(AROUND)].concat();
    compact(&within).is_some()
}

fn break_line(out: &mut Vec<u8>, wanted: bool, depth: usize) {
    if wanted {
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    }
}

/// Copies the string that begins at `at`; gives the place after it.
fn string(json: &[u8], at: usize, out: &mut Vec<u8>) -> usize {
    let mut end = at + 1;
    let mut copied = at;
    while let Some(&byte) = json.get(end) {
        let (length, escape): (usize, &[u8]) = match byte {
            b'"' => {
                end += 1;
                break;
            }
            b'\\' => {
                end += 2;
                continue;
            }
            b'<' => (1, b"\\u003c"),
            b'>' => (1, b"\\u003e"),
            b'&' => (1, b"\\u0026"),
            0xe2 if json[end..].starts_with(b"\xe2\x80\xa8") => (3, b"\\u2028"),
            0xe2 if json[end..].starts_with(b"\xe2\x80\xa9") => (3, b"\\u2029"),
            _ => {
                end += 1;
                continue;
            }
        };
        out.extend_from_slice(&json[copied..end]);
        out.extend_from_slice(escape);
        end += length;
        copied = end;
    }
    let end = end.min(json.len());
    out.extend_from_slice(&json[copied.min(end)..end]);
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str, want_compact: &str, want_indented: &str) {
        assert_eq!(String::from_utf8(compact(json).unwrap()).unwrap(), want_compact);
        assert_eq!(
            String::from_utf8(indent(json.as_bytes()).unwrap()).unwrap(),
            want_indented
        );
    }

    #[test]
    fn both_forms_are_those_of_go() {
        check(" { } ", "{}", "{}");
        check(
            "[ [ ] , {\"a\" : 1.50 } ]",
            "[[],{\"a\":1.50}]",
            "[\n  [],\n  {\n    \"a\": 1.50\n  }\n]",
        );
        check("[[[1]]]", "[[[1]]]", "[\n  [\n    [\n      1\n    ]\n  ]\n]");
        check(
            "\"a,\\\" {<b>&\u{2028}\u{2029}\u{20ac}\\\\\"",
            "\"a,\\\" {\\u003cb\\u003e\\u0026\\u2028\\u2029\u{20ac}\\\\\"",
            "\"a,\\\" {\\u003cb\\u003e\\u0026\\u2028\\u2029\u{20ac}\\\\\"",
        );
    }

    #[test]
    fn a_lot_of_nesting_is_refused() {
        assert!(compact(&"[".repeat(MAX_DEPTH)).is_some());
        assert!(compact(&"[".repeat(MAX_DEPTH + 1)).is_none());
    }

    #[test]
    fn text_cut_short_does_no_harm() {
        for text in ["\"", "\"\\", "\"a\\", "[", "{\"a"] {
            assert!(compact(text).is_some());
        }
    }
}
