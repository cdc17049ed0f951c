//! Paths that match a pattern with `**`, as the doublestar library Terraform uses finds them.
//!
//! `*` and `?` never match a slash, `**` as a whole part matches any number of folders, names beginning with a dot match
//! like others. A pattern is refused only when a name is held against it. Folders that cannot be listed count as empty.

use crate::{Caps, FileKind};

use super::path;

/// Folders within folders that are followed at most: links may go in circles.
const DEEPEST: usize = 100;

/// Names that one part of a pattern may stand for through its alternatives.
const MOST_ALTERNATIVES: usize = 1024;

/// The pattern is not valid.
#[derive(Debug, PartialEq)]
pub(super) struct BadPattern;

/// All paths that match a clean pattern, each once, in the order found.
pub(super) fn matches(caps: &dyn Caps, pattern: &str) -> Result<Vec<String>, BadPattern> {
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
    fn descend(&mut self, folder: &str, parts: &[&str], depth: usize) -> Result<(), BadPattern> {
        let plain = parts
            .iter()
            .take_while(|part| !part.contains(['*', '?', '[', '{', '\\']))
            .count();
        let folder = parts[..plain]
            .iter()
            .fold(folder.to_owned(), |folder, part| path::join(&folder, part));
        let Some((part, rest)) = parts[plain..].split_first() else {
            if self.caps.file_kind(&folder).is_ok() {
                self.found.push(folder);
            }
            return Ok(());
        };
        if depth > DEEPEST {
            return Ok(());
        }
        let listed = if folder.is_empty() { "." } else { &folder };
        let mut entries = self.caps.list_dir(listed).unwrap_or_default();
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
        let part = Part::parse(part)?;
        for (name, _) in &entries {
            if part.matches(name) {
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

/// One part of a pattern: any of these.
struct Part(Vec<Vec<Piece>>);

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Char(char),
    Any,
    Star,
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Part {
    fn parse(pattern: &str) -> Result<Self, BadPattern> {
        let mut options = vec![Vec::new()];
        let mut rest = pattern;
        while let Some(first) = rest.chars().next() {
            rest = &rest[first.len_utf8()..];
            let piece = match first {
                '\\' => {
                    let escaped = rest.chars().next().ok_or(BadPattern)?;
                    rest = &rest[escaped.len_utf8()..];
                    Piece::Char(escaped)
                }
                '*' => Piece::Star,
                '?' => Piece::Any,
                '[' => {
                    let (class, after) = until(rest, ']')?;
                    rest = after;
                    class_of(class)?
                }
                '{' => {
                    let (alternatives, after) = until(rest, '}')?;
                    rest = after;
                    let mut longer = Vec::new();
                    for alternative in split(alternatives) {
                        let Part(middle) = Part::parse(alternative)?;
                        for (start, middle) in options
                            .iter()
                            .flat_map(|start| middle.iter().map(move |m| (start, m)))
                        {
                            longer.push([start.as_slice(), middle].concat());
                        }
                    }
                    if longer.len() > MOST_ALTERNATIVES {
                        return Err(BadPattern);
                    }
                    options = longer;
                    continue;
                }
                c => Piece::Char(c),
            };
            options.iter_mut().for_each(|option| option.push(piece.clone()));
        }
        Ok(Part(options))
    }

    fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        self.0.iter().any(|option| option_matches(option, &name))
    }
}

/// The text before an unescaped character, and what follows it.
fn until(text: &str, end: char) -> Result<(&str, &str), BadPattern> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' {
            escaped = true;
        } else if c == end {
            return Ok((&text[..at], &text[at + end.len_utf8()..]));
        }
    }
    Err(BadPattern)
}

/// The texts between unescaped commas.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Ok((part, after)) = until(rest, ',') {
        parts.push(part);
        rest = after;
    }
    parts.push(rest);
    parts
}

fn class_of(text: &str) -> Result<Piece, BadPattern> {
    let (negated, text) = text.strip_prefix('^').map_or((false, text), |rest| (true, rest));
    let mut ranges = Vec::new();
    let mut chars = text.chars().peekable();
    let bound = |chars: &mut std::iter::Peekable<std::str::Chars<'_>>| match chars.next() {
        Some('\\') => chars.next().ok_or(BadPattern),
        None | Some('-') => Err(BadPattern),
        Some(c) => Ok(c),
    };
    while chars.peek().is_some() {
        let low = bound(&mut chars)?;
        let high = if chars.next_if_eq(&'-').is_some() {
            bound(&mut chars)?
        } else {
            low
        };
        ranges.push((low, high));
    }
    if ranges.is_empty() && !negated {
        return Err(BadPattern);
    }
    Ok(Piece::Class { negated, ranges })
}

/// A star takes as little as it can; when the rest fails, the last star takes one more.
fn option_matches(pieces: &[Piece], name: &[char]) -> bool {
    let (mut piece, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    loop {
        let fits = match (pieces.get(piece), name.get(at)) {
            (Some(Piece::Star), _) => {
                star = Some((piece, at));
                piece += 1;
                continue;
            }
            (None, None) => return true,
            (Some(Piece::Any), Some(_)) => true,
            (Some(Piece::Char(wanted)), Some(c)) => wanted == c,
            (Some(Piece::Class { negated, ranges }), Some(c)) => {
                ranges.iter().any(|(low, high)| (low..=high).contains(&c)) != *negated
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if fits {
            (piece, at) = (piece + 1, at + 1);
        } else {
            match star {
                Some((last, taken)) if taken < name.len() => {
                    star = Some((last, taken + 1));
                    (piece, at) = (last + 1, taken + 1);
                }
                _ => return false,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_match_names() {
        let check = |pattern: &str, name: &str, want: bool| {
            assert_eq!(
                Part::parse(pattern).map(|part| part.matches(name)),
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
        for pattern in ["{a", "[a", "[]", "[-a]", "[a-]", "a\\"] {
            assert_eq!(Part::parse(pattern).err(), Some(BadPattern), "{pattern}");
        }
    }
}
