//! gzip exactly as Terraform writes it: Go's `compress/flate` at its usual level, one flush, then the end.
//!
//! The bytes matter: users feed them to resources, and any other valid compression would show as a change. Matching lives
//! here, blocks and their codes in [`block`] and [`huffman`]. Output only; nothing is ever decompressed.

mod block;
mod huffman;

use self::block::{Token, Writer};

const WINDOW: usize = 1 << 15;
const SHORTEST: usize = 4;
const LONGEST: usize = 258;
/// What must lie ahead for a match to be looked for, until the end is near.
const LOOKAHEAD: usize = SHORTEST + LONGEST;
const HASH_BITS: u32 = 17;
/// A match of this length is not compared with one that begins a byte later.
const LAZY: usize = 16;
/// A match of this length ends the search.
const NICE: usize = 128;
/// Earlier places with the same hash that are looked at.
const CHAIN: usize = 128;
/// A match of the least length may lie no further back.
const FARTHEST_SHORTEST: usize = 4096;
/// Tokens in a block.
const BLOCK_TOKENS: usize = 1 << 14;
/// No place.
const NONE: u32 = u32::MAX;

/// The text compressed, with header and trailer.
pub(crate) fn compress(text: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff];
    let mut writer = Writer::new(&mut out);
    Matcher::new(text).run(&mut writer);
    writer.stored(&[], false);
    writer.stored(&[], true);
    out.extend(crc32(text).to_le_bytes());
    out.extend((text.len() as u32).to_le_bytes());
    out
}

/// Finds repetitions. Positions are absolute; `base` is where the sliding buffer of two windows begins, since Go never
/// looks past its start.
struct Matcher<'a> {
    text: &'a [u8],
    base: usize,
    head: Vec<u32>,
    previous: Vec<u32>,
    /// The last place with the hash of the current one; stale near the end, as in Go.
    chain: u32,
    tokens: Vec<Token>,
    /// Where the current block begins, `None` once that has left the buffer.
    block_start: Option<usize>,
}

impl<'a> Matcher<'a> {
    fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            base: 0,
            head: vec![NONE; 1 << HASH_BITS],
            previous: vec![NONE; WINDOW],
            chain: NONE,
            tokens: Vec::new(),
            block_start: Some(0),
        }
    }

    fn run(mut self, writer: &mut Writer<'_>) {
        let (mut at, mut length, mut offset, mut pending) = (0, SHORTEST - 1, 0, false);
        let end = self.text.len();
        while at < end {
            self.slide(at);
            if at + SHORTEST <= end {
                self.chain = self.insert(at);
            }
            let (last_length, last_offset) = (length, offset);
            (length, offset) = (SHORTEST - 1, 0);
            let ahead = end - at;
            let reachable = self.chain != NONE && self.chain as usize >= self.oldest(at);
            if reachable
                && ahead > last_length
                && last_length < LAZY
                && let Some(found) = self.find(at, ahead)
            {
                (length, offset) = found;
            }
            if last_length >= SHORTEST && length <= last_length {
                self.tokens.push(Token::Match {
                    length: last_length as u16,
                    offset: last_offset as u16,
                });
                let next = at + last_length - 1;
                for inside in at + 1..next {
                    if inside + SHORTEST <= end {
                        self.insert(inside);
                    }
                }
                at = next;
                pending = false;
                length = SHORTEST - 1;
                if self.tokens.len() == BLOCK_TOKENS {
                    self.block(writer, at);
                }
            } else {
                if pending {
                    self.tokens.push(Token::Literal(self.text[at - 1]));
                    if self.tokens.len() == BLOCK_TOKENS {
                        self.block(writer, at);
                    }
                }
                at += 1;
                pending = true;
            }
        }
        if pending {
            self.tokens.push(Token::Literal(self.text[at - 1]));
        }
        if !self.tokens.is_empty() {
            self.block(writer, at);
        }
    }

    /// Moves the buffer when Go would: when it is full and less than the lookahead is left in it.
    fn slide(&mut self, at: usize) {
        let buffered = self.base + 2 * WINDOW;
        if buffered - at < LOOKAHEAD && buffered < self.text.len() {
            self.base += WINDOW;
            self.block_start = self.block_start.filter(|start| *start >= self.base);
        }
    }

    fn oldest(&self, at: usize) -> usize {
        at.saturating_sub(WINDOW).max(self.base)
    }

    /// Makes the place the latest of its hash; gives the one before.
    fn insert(&mut self, at: usize) -> u32 {
        let bytes = [
            self.text[at],
            self.text[at + 1],
            self.text[at + 2],
            self.text[at + 3],
        ];
        let hash = u32::from_be_bytes(bytes).wrapping_mul(0x1e35_a7bd) >> (32 - HASH_BITS);
        let before = std::mem::replace(&mut self.head[hash as usize], at as u32);
        self.previous[at % WINDOW] = before;
        before
    }

    /// The best match for what lies at a place: length and distance.
    fn find(&self, at: usize, ahead: usize) -> Option<(usize, usize)> {
        let most = ahead.min(LONGEST);
        let nice = most.min(NICE);
        let (mut length, mut found) = (SHORTEST - 1, None);
        let mut candidate = self.chain as usize;
        let oldest = self.oldest(at);
        for _ in 0..CHAIN {
            if self.text[at + length] == self.text[candidate + length] {
                let same = (0..most)
                    .take_while(|i| self.text[candidate + i] == self.text[at + i])
                    .count();
                if same > length && (same > SHORTEST || at - candidate <= FARTHEST_SHORTEST) {
                    length = same;
                    found = Some((same, at - candidate));
                    if same >= nice {
                        break;
                    }
                }
            }
            if candidate + WINDOW == at {
                break;
            }
            let next = self.previous[candidate % WINDOW];
            if next == NONE || (next as usize) < oldest {
                break;
            }
            candidate = next as usize;
        }
        found
    }

    fn block(&mut self, writer: &mut Writer<'_>, end: usize) {
        let input = self.block_start.map(|start| &self.text[start..end]);
        writer.block(&self.tokens, input);
        self.tokens.clear();
        self.block_start = Some(end);
    }
}

fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 {
                    (value >> 1) ^ 0xedb8_8320
                } else {
                    value >> 1
                };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| {
        (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &str) {
        assert_eq!(
            crate::digest::base64(&compress(text.as_bytes())),
            want,
            "{text:?}"
        );
    }

    #[test]
    fn bytes_are_terraforms() {
        check("", "H4sIAAAAAAAA/wAAAP//AQAA//8AAAAAAAAAAA==");
        check(
            "Hello World",
            "H4sIAAAAAAAA//JIzcnJVwjPL8pJAQAAAP//AQAA//9WsRdKCwAAAA==",
        );
        check(&"a".repeat(64), "H4sIAAAAAAAA/0qkEAAAAAD//wEAAP//VWW0iUAAAAA=");
        let lines: Vec<String> = (0..50).map(|i| format!("line {i}")).collect();
        check(
            &lines.join("\n"),
            "H4sIAAAAAAAA/zTQuQ0CAQwF0ZwqKIF/cGxBBEiI/kOk9TiayE+2v5/f+3q7nNHEk0w6uU8ek+fkNTkYXwZHQEISlLAEJjTBCc943r3wjGc84xnPeMYzXvCClz0UL3jBC17wghe84hWveN3P4RWveMUrXo8/AAAA//8BAAD//2B+70+FAQAA",
        );
    }
}
