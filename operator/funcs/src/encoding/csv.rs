//! CSV records as Go's `encoding/csv` reads them: strict quotes, blank lines skipped, line ends made `\n`.

use std::fmt;

/// What is wrong with a CSV text.
#[derive(Debug, PartialEq)]
pub(super) struct Wrong {
    line: usize,
    what: &'static str,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of the CSV text: {}", self.line, self.what)
    }
}

/// The records of a text, one after the other; nothing after an error.
pub(super) struct Records<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Records<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text, line: 0 }
    }

    /// The next line without its end, and whether it had one.
    fn line(&mut self) -> Option<(&'a str, bool)> {
        if self.rest.is_empty() {
            return None;
        }
        self.line += 1;
        let (line, ended) = match self.rest.split_once('\n') {
            Some((line, rest)) => {
                self.rest = rest;
                (line, true)
            }
            None => (std::mem::take(&mut self.rest), false),
        };
        Some((line.strip_suffix('\r').unwrap_or(line), ended))
    }

    fn fail<T>(&mut self, what: &'static str) -> Result<T, Wrong> {
        self.rest = "";
        Err(Wrong {
            line: self.line,
            what,
        })
    }

    fn record(&mut self, mut line: &'a str, mut ended: bool) -> Result<Vec<String>, Wrong> {
        let mut fields = Vec::new();
        loop {
            let Some(mut quoted) = line.strip_prefix('"') else {
                let (field, rest) = line
                    .split_once(',')
                    .map_or((line, None), |(field, rest)| (field, Some(rest)));
                if field.contains('"') {
                    return self.fail("a quote stands inside a field that does not begin with one");
                }
                fields.push(field.to_owned());
                match rest {
                    Some(rest) => line = rest,
                    None => return Ok(fields),
                }
                continue;
            };
            let mut field = String::new();
            loop {
                let Some((part, rest)) = quoted.split_once('"') else {
                    field.push_str(quoted);
                    let next = if ended { self.line() } else { None };
                    let Some((next, next_ended)) = next else {
                        return self.fail("a quoted field is not closed");
                    };
                    field.push('\n');
                    (quoted, ended) = (next, next_ended);
                    continue;
                };
                field.push_str(part);
                if let Some(rest) = rest.strip_prefix('"') {
                    field.push('"');
                    quoted = rest;
                } else if let Some(rest) = rest.strip_prefix(',') {
                    fields.push(field);
                    line = rest;
                    break;
                } else if rest.is_empty() {
                    fields.push(field);
                    return Ok(fields);
                } else {
                    return self.fail("text follows the closing quote of a field");
                }
            }
        }
    }
}

impl Iterator for Records<'_> {
    type Item = Result<Vec<String>, Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (line, ended) = self.line()?;
            if !line.is_empty() || !ended {
                return Some(self.record(line, ended));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, want: &[&[&str]]) {
        let got: Result<Vec<_>, _> = Records::new(text).collect();
        assert_eq!(got.expect(text), want, "{text:?}");
    }

    #[test]
    fn reads_as_go_does() {
        check("a,b\r\n1,2", &[&["a", "b"], &["1", "2"]]);
        check("\n\na\n\n,\n", &[&["a"], &["", ""]]);
        check("\"x\"\"y\",\"two\r\nlines\"\n", &[&["x\"y", "two\nlines"]]);
        check(" a , b \n", &[&[" a ", " b "]]);
        check("\"\"", &[&[""]]);
        for wrong in ["a\"b", "\"a\"b", "\"a", "\"a\n"] {
            assert!(
                Records::new(wrong).next().is_some_and(|record| record.is_err()),
                "{wrong:?}"
            );
        }
    }
}
