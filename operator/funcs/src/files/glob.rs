//! Paths that match a pattern with `**`, as the doublestar library Terraform uses finds them.
//!
//! `*` and `?` never match a slash, `**` as a whole part matches any number of folders, names beginning with a dot match
//! like others. A pattern is refused only where a name is held against its fault. Folders that cannot be listed count as empty.

use crate::{Caps, CapsError, FileKind, protocol::CELL};

use super::path;

/// Folders within folders that are followed at most: links may go in circles.
const DEEPEST: usize = 100;

/// Steps taken at most to hold a part of a pattern against a name.
const STEPS: usize = 100_000;

/// Why there is no answer.
#[derive(Debug, PartialEq)]
pub(super) enum Fault {
    /// The pattern is not valid.
    BadPattern,
    /// It leads where nothing may be read; the text says so.
    Refused(String),
    /// Too many names would have to be held against it.
    Memory,
}

use Fault::BadPattern;

/// All paths that match a clean pattern, each once, in the order found.
pub(super) fn matches(caps: &dyn Caps, pattern: &str) -> Result<Vec<String>, Fault> {
    let parts: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    let start = if pattern.starts_with('/') { "/" } else { "" };
    let mut search = Search {
        caps,
        found: Vec::new(),
    };
    search.descend(start, &parts, 0)?;
    Ok(search.found)
}

struct Search<'a> {
    caps: &'a dyn Caps,
    found: Vec<String>,
}

impl Search<'_> {
    fn descend(&mut self, folder: &str, parts: &[&str], depth: usize) -> Result<(), Fault> {
        let plain = parts
            .iter()
            .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
            .count();
        let folder = parts[..plain]
            .iter()
            .fold(folder.to_owned(), |folder, part| path::join(&folder, part));
        let Some((part, rest)) = parts[plain..].split_first() else {
            match self.caps.file_kind(&folder) {
                Ok(_) => self.found.push(folder),
                // Whether it is there is not known then.
                Err(CapsError::Refused(why)) => return Err(Fault::Refused(why)),
                Err(CapsError::Absent | CapsError::Failed(_)) => {}
            }
            return Ok(());
        };
        if depth > DEEPEST {
            return Ok(());
        }
        let listed = if folder.is_empty() { "." } else { &folder };
        let mut entries = match self.caps.list_dir(listed) {
            Err(CapsError::Refused(why)) => return Err(Fault::Refused(why)),
            listed => listed.unwrap_or_default(),
        };
        // With several `**` a folder is listed again for each way to it.
        if !self.caps.grant(CELL * (entries.len() + 1)) {
            return Err(Fault::Memory);
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        let (mut part, mut rest) = (*part, rest);
        if part == "**" {
            for (name, kind) in &entries {
                let inside = path::join(&folder, name);
                if rest.is_empty() {
                    self.found.push(inside.clone());
                }
                if *kind == FileKind::Directory {
                    self.descend(&inside, &parts[plain..], depth + 1)?;
                }
            }
            match rest.split_first() {
                None => return Ok(()),
                Some((next, after)) => (part, rest) = (next, after),
            }
        }
        if entries.is_empty() {
            return Ok(());
        }
        for (name, _) in &entries {
            if component(part, name, &mut { STEPS })? {
                let inside = path::join(&folder, name);
                if rest.is_empty() {
                    self.found.push(inside);
                } else {
                    self.descend(&inside, rest, depth + 1)?;
                }
            }
        }
        Ok(())
    }
}

/// Does one part of a pattern match a name? What follows the place where they part is not looked at, so a fault there is
/// none. `budget` bounds the steps, for stars within alternatives can be tried in very many ways.
fn component(pattern: &str, name: &str, budget: &mut usize) -> Result<bool, Fault> {
    *budget = budget.checked_sub(1).ok_or(BadPattern)?;
    if name.is_empty() && pattern != "*" {
        return Ok(pattern.is_empty());
    }
    let (mut pattern, mut name) = (pattern, name);
    while let (Some(want), Some(c)) = (pattern.chars().next(), name.chars().next()) {
        let rest = &pattern[want.len_utf8()..];
        let after = &name[c.len_utf8()..];
        (pattern, name) = match want {
            '\\' => {
                let escaped = rest.chars().next().ok_or(BadPattern)?;
                if escaped != c {
                    return Ok(false);
                }
                (&rest[escaped.len_utf8()..], after)
            }
            '*' if rest.is_empty() => return Ok(true),
            '*' => {
                for (at, _) in name.char_indices() {
                    // Faults behind a star are passed over, but not those of the budget.
                    if component(rest, &name[at..], budget).unwrap_or(false) {
                        return Ok(true);
                    }
                }
                return if *budget == 0 { Err(BadPattern) } else { Ok(false) };
            }
            '[' => {
                let (class, behind) = until(rest, ']').ok_or(BadPattern)?;
                if !in_class(class, c)? {
                    return Ok(false);
                }
                (behind, after)
            }
            '{' => {
                let (alternatives, behind) = until(rest, '}').ok_or(BadPattern)?;
                for alternative in split(alternatives) {
                    if component(&format!("{alternative}{behind}"), name, budget)? {
                        return Ok(true);
                    }
                }
                return Ok(false);
            }
            _ if want == '?' || want == c => (rest, after),
            _ => return Ok(false),
        };
    }
    Ok(name.is_empty() && matches!(pattern, "" | "*" | "**"))
}

/// The text before a character without a backslash before it, and what follows it.
fn until(text: &str, end: char) -> Option<(&str, &str)> {
    let (at, _) = text
        .match_indices(end)
        .find(|(at, _)| !text[..*at].ends_with('\\'))?;
    Some((&text[..at], &text[at + end.len_utf8()..]))
}

/// The texts between commas.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((part, after)) = until(rest, ',') {
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

fn in_class(text: &str, c: char) -> Result<bool, Fault> {
    if text.is_empty() {
        return Err(BadPattern);
    }
    let (negated, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
    let mut chars = text.chars().peekable();
    let bound = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| match chars.next() {
        Some('\\') => chars.next().ok_or(BadPattern),
        None | Some('-') => Err(BadPattern),
        Some(c) => Ok(c),
    };
    let mut found = false;
    while chars.peek().is_some() {
        let low = bound(&mut chars)?;
        let high = if chars.next_if_eq(&'-').is_some() {
            bound(&mut chars)?
        } else {
            low
        };
        found |= (low..=high).contains(&c);
    }
    Ok(found != negated)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_names() {
        let check = |pattern: &str, name: &str, want: bool| {
            assert_eq!(
                component(pattern, name, &mut { STEPS }),
                Ok(want),
                "{pattern} {name}"
            );
        };
        check("*.txt", "a.txt", true);
        check("*.txt", ".txt", true);
        check("*", ".hidden", true);
        check("a*b*c", "aXbYbZc", true);
        check("a*b", "abc", false);
        check("?.txt", "é.txt", true);
        check("[!a].txt", "a.txt", true);
        check("[^a].txt", "b.txt", true);
        check("[a-c]", "b", true);
        check("{a,b*}.txt", "bx.txt", true);
        check("{a,b}{c,d}", "ad", true);
        check("\\*", "*", true);
        for (pattern, name) in [
            ("{a", "a"),
            ("[a", "a"),
            ("[]", "a"),
            ("[-a]", "a"),
            ("[a-]", "a"),
            ("a\\", "ab"),
        ] {
            assert_eq!(
                component(pattern, name, &mut { STEPS }),
                Err(BadPattern),
                "{pattern}"
            );
        }
        check("{a,{b,c}}.txt", "b.txt", true);
        check("{a,{b,c}}.txt", "c.txt", false);
        check("x[", "a", false);
        let hostile = "*a".repeat(40);
        assert_eq!(component(&hostile, &"a".repeat(200), &mut { STEPS }), Ok(true));
        let hostile = format!("{}b", "*a".repeat(40));
        assert_eq!(
            component(&hostile, &"a".repeat(200), &mut { STEPS }),
            Err(BadPattern)
        );
    }
}
