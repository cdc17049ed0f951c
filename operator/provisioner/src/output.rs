//! What a program prints: line by line to who hears it, and its end for an error.

use std::collections::VecDeque;

/// Longest line that is told whole; longer ones are told in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// So much of the end of the output goes into an error.
const TAIL: usize = 8 << 10;

/// Cuts output into lines.
pub(crate) struct Output<H> {
    hear: H,
    line: Vec<u8>,
    tail: VecDeque<u8>,
}

impl<H: FnMut(&str)> Output<H> {
    pub(crate) fn new(hear: H) -> Self {
        Self {
            hear,
            line: Vec::new(),
            tail: VecDeque::new(),
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let spare = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.tail.drain(..spare.min(self.tail.len()));
        self.tail
            .extend(bytes.iter().skip(bytes.len().saturating_sub(TAIL)));
        for byte in bytes {
            if *byte == b'\n' || self.line.len() >= LONGEST_LINE {
                self.tell();
            }
            if *byte != b'\n' {
                self.line.push(*byte);
            }
        }
    }

    fn tell(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        (self.hear)(line.trim_end_matches('\r'));
        self.line.clear();
    }

    /// Tells what is left, and gives the end of it all.
    pub(crate) fn finish(mut self) -> String {
        if !self.line.is_empty() {
            self.tell();
        }
        let tail: Vec<u8> = self.tail.into();
        String::from_utf8_lossy(&tail).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_told_as_they_end_and_the_tail_is_kept() {
        let mut lines = Vec::new();
        let mut output = Output::new(|line: &str| lines.push(line.to_owned()));
        output.take(b"one\r\ntw");
        output.take(b"o\n\nthr\xffee");
        assert_eq!(output.finish(), "one\r\ntwo\n\nthr\u{fffd}ee");
        assert_eq!(lines, ["one", "two", "", "thr\u{fffd}ee"]);
    }

    #[test]
    fn neither_a_line_nor_the_tail_grows_without_end() {
        let mut longest = 0;
        let mut output = Output::new(|line: &str| longest = longest.max(line.len()));
        for _ in 0..100 {
            output.take(&[b'x'; 10_000]);
        }
        assert_eq!(output.finish().len(), TAIL);
        assert_eq!(longest, LONGEST_LINE);
    }
}
