//! What a program prints: line by line to who hears it, and its end for an error; all of it without what must not be shown.
//!
//! Secrets are found as whole texts, so nothing is cut where one might stand: a tail begins with a whole line, and a line too
//! long to be told at once is cut where no secret lies across.

use std::collections::VecDeque;

/// Longest line that is told whole; longer ones are told in pieces.
const LONGEST_LINE: usize = 64 << 10;
/// How far before the end of a piece a place is looked for to cut it, and the longest secret that is found there.
const OVERLAP: usize = 16 << 10;
/// So much of the end of the output goes into an error.
const TAIL: usize = 8 << 10;

/// Cuts output into lines.
pub(crate) struct Output<R, H> {
    redact: R,
    hear: H,
    line: Vec<u8>,
    tail: VecDeque<u8>,
    /// Was something of the output cut off that the tail does not hold?
    cut: bool,
}

impl<R: Fn(&str) -> String, H: Fn(&str)> Output<R, H> {
    pub(crate) fn new(redact: R, hear: H) -> Self {
        Self {
            redact,
            hear,
            line: Vec::new(),
            tail: VecDeque::new(),
            cut: false,
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) {
        let spare = (self.tail.len() + bytes.len()).saturating_sub(TAIL);
        self.cut |= spare > 0;
        self.tail.drain(..spare.min(self.tail.len()));
        self.tail
            .extend(bytes.iter().skip(bytes.len().saturating_sub(TAIL)));
        for byte in bytes {
            match byte {
                b'\n' => self.tell(),
                byte => self.line.push(*byte),
            }
            if self.line.len() >= LONGEST_LINE + OVERLAP {
                self.tell_piece();
            }
        }
    }

    fn tell(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        (self.hear)(&(self.redact)(line.trim_end_matches('\r')));
        self.line.clear();
    }

    /// Tells the beginning of a line that is too long. What would be taken out of the whole and of neither part lies across
    /// the place, so another one is looked for.
    fn tell_piece(&mut self) {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        let whole = (self.redact)(&line);
        let places = (0..OVERLAP).step_by(OVERLAP / 8).map(|back| LONGEST_LINE - back);
        let cut = places.map(|at| line.floor_char_boundary(at)).find_map(|at| {
            let (first, rest) = line.split_at_checked(at)?;
            let first = (self.redact)(first);
            let clean = whole.strip_prefix(&*first)? == (self.redact)(rest);
            clean.then(|| (first, rest.to_owned()))
        });
        match cut {
            Some((first, rest)) => {
                (self.hear)(&first);
                self.line = rest.into_bytes();
            }
            None => {
                (self.hear)("(a part of a long line is not shown)");
                self.line.clear();
            }
        }
    }

    /// Tells what is left, and gives the end of it all.
    pub(crate) fn finish(mut self) -> String {
        if !self.line.is_empty() {
            self.tell();
        }
        let tail: Vec<u8> = self.tail.into();
        let tail = String::from_utf8_lossy(&tail);
        let whole = match (self.cut, tail.split_once('\n')) {
            (false, _) => &*tail,
            (true, Some((_, whole))) => whole,
            (true, None) => "(the end of a long line is not shown)",
        };
        (self.redact)(whole)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn open(text: &str) -> String {
        text.to_owned()
    }

    fn hushed(text: &str) -> String {
        text.replace("hunter2", "***")
    }

    #[test]
    fn lines_are_told_as_they_end_and_the_tail_is_kept() {
        let lines = RefCell::new(Vec::new());
        let mut output = Output::new(open, |line: &str| lines.borrow_mut().push(line.to_owned()));
        output.take(b"one\r\ntw");
        output.take(b"o\n\nthr\xffee");
        assert_eq!(output.finish(), "one\r\ntwo\n\nthr\u{fffd}ee");
        assert_eq!(lines.into_inner(), ["one", "two", "", "thr\u{fffd}ee"]);
    }

    #[test]
    fn neither_a_line_nor_the_tail_grows_without_end() {
        let lines = RefCell::new(Vec::new());
        let mut output = Output::new(open, |line: &str| lines.borrow_mut().push(line.len()));
        for _ in 0..100 {
            output.take(&[b'x'; 10_000]);
        }
        assert_eq!(output.finish(), "(the end of a long line is not shown)");
        let lines = lines.into_inner();
        assert_eq!(lines.iter().sum::<usize>(), 1_000_000);
        assert_eq!(
            lines.iter().max(),
            Some(&LONGEST_LINE.max(lines[lines.len() - 1]))
        );
    }

    #[test]
    fn no_part_of_a_secret_is_told_wherever_it_is_cut() {
        for shift in 0..10 {
            let lines = RefCell::new(String::new());
            let mut output = Output::new(hushed, |line: &str| lines.borrow_mut().push_str(line));
            output.take("x".repeat(LONGEST_LINE - shift).as_bytes());
            output.take(b"hunter2");
            output.take("y".repeat(2 * OVERLAP).as_bytes());
            output.take(b"\nlast\n");
            let tail = output.finish();
            assert_eq!(tail, "last\n");
            let told = lines.into_inner();
            assert!(!told.contains("hunter") && told.contains("x***y"), "{shift}");
        }
        // A tail that begins within a secret.
        for shift in 0..10 {
            let mut output = Output::new(hushed, |_: &str| {});
            output.take(b"hunter2");
            output.take("z".repeat(TAIL - 8 - shift).as_bytes());
            output.take(b"\nlast\n");
            assert!(!output.finish().contains("ter2"), "{shift}");
        }
    }
}
