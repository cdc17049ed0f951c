//! Version numbers and constraints on them.
//!
//! Terraform judges versions with two libraries whose rules differ, so [`Constraints`] has two questions: one for
//! providers ([`Constraints::allow_provider`], the rules of apparentlymart/go-versions) and one for modules and for
//! Terraform's own version ([`Constraints::allow`], the rules of hashicorp/go-version). Nothing here chooses among
//! versions or knows where they come from.

mod constraint;

use std::{cmp::Ordering, fmt, str::FromStr, sync::Arc};

pub use self::constraint::Constraints;

/// A text that is no version or no version constraint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionError {
    text: String,
    wanted: &'static str,
}

impl fmt::Display for VersionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} cannot be read: {}", self.text, self.wanted)
    }
}

impl std::error::Error for VersionError {}

/// A version. Ordered by precedence (semver); build metadata only breaks ties.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Version {
    /// Three or more numbers, zeros filled in.
    numbers: Arc<[u64]>,
    pre: Arc<str>,
    build: Arc<str>,
}

impl Version {
    /// Is it a prerelease, such as `1.0.0-beta1`?
    pub fn is_prerelease(&self) -> bool {
        !self.pre.is_empty()
    }

    /// Order by precedence: build metadata does not count.
    fn precedence(&self, other: &Self) -> Ordering {
        let longest = self.numbers.len().max(other.numbers.len());
        let number = |version: &Self, at: usize| version.numbers.get(at).copied().unwrap_or(0);
        (0..longest)
            .map(|at| number(self, at).cmp(&number(other, at)))
            .find(|order| order.is_ne())
            .unwrap_or_else(|| compare_prereleases(&self.pre, &other.pre))
    }

    fn same_numbers(&self, other: &Self) -> bool {
        self.numbers == other.numbers
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Self) -> Ordering {
        self.precedence(other)
            .then_with(|| self.build.cmp(&other.build))
            .then_with(|| self.numbers.len().cmp(&other.numbers.len()))
    }
}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A release follows its prereleases; numeric parts precede others; of equal beginnings the shorter comes first.
fn compare_prereleases(a: &str, b: &str) -> Ordering {
    match (a.is_empty(), b.is_empty()) {
        (true, true) => return Ordering::Equal,
        (true, false) => return Ordering::Greater,
        (false, true) => return Ordering::Less,
        (false, false) => {}
    }
    let (mut left, mut right) = (a.split('.'), b.split('.'));
    loop {
        let order = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => Ordering::Less,
            (Some(_), None) => Ordering::Greater,
            (Some(x), Some(y)) => match (is_number(x), is_number(y)) {
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) => compare_digits(x, y),
                (false, false) => x.cmp(y),
            },
        };
        if order.is_ne() {
            return order;
        }
    }
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits of any length.
fn compare_digits(a: &str, b: &str) -> Ordering {
    let (a, b) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, number) in self.numbers.iter().enumerate() {
            write!(f, "{}{number}", if at > 0 { "." } else { "" })?;
        }
        if !self.pre.is_empty() {
            write!(f, "-{}", self.pre)?;
        }
        if !self.build.is_empty() {
            write!(f, "+{}", self.build)?;
        }
        Ok(())
    }
}

/// Reads `[v]1[.2[.3…]][-pre][+build]`; missing numbers are zero.
impl FromStr for Version {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        parse_version(text)
            .map(|(version, _)| version)
            .ok_or_else(|| VersionError {
                text: text.to_owned(),
                wanted: "a version is numbers with dots between them, such as 1.2.3 or 1.2.3-beta1",
            })
    }
}

/// The version, and how many numbers were written out.
fn parse_version(text: &str) -> Option<(Version, usize)> {
    let body = text.strip_prefix('v').unwrap_or(text);
    let (body, build) = split_extra(body, '+');
    let digits = body
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(body.len());
    let (numbers, pre) = body.split_at(digits);
    // go-version takes a prerelease without its dash too.
    let pre_text = pre.strip_prefix('-').unwrap_or(pre);
    let valid = |extra: &str| {
        extra.split('.').all(|part| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '~')
        })
    };
    if (!pre.is_empty() && !valid(pre_text)) || build.is_some_and(|build| !valid(build)) {
        return None;
    }
    let mut parsed = numbers
        .split('.')
        .map(|number| is_number(number).then(|| number.parse().ok()).flatten())
        .collect::<Option<Vec<u64>>>()?;
    let written = parsed.len();
    parsed.resize(written.max(3), 0);
    let version = Version {
        numbers: parsed.into(),
        pre: pre_text.into(),
        build: build.unwrap_or_default().into(),
    };
    Some((version, written))
}

fn split_extra(text: &str, mark: char) -> (&str, Option<&str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests;
