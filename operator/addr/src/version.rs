//! Version numbers and constraints on them.
//!
//! Terraform judges versions with two libraries whose rules differ, so [`Constraints`] has two questions: one for
//! providers ([`Constraints::allow_provider`], the rules of apparentlymart/go-versions) and one for modules and for
//! Terraform's own version ([`Constraints::allow`], the rules of hashicorp/go-version). Nothing here chooses among
//! versions or knows where they come from.

use std::{cmp::Ordering, fmt, str::FromStr, sync::Arc};

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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    Less,
    AtLeast,
    AtMost,
    /// `~>`: at least this, and only the last written number may grow.
    Pessimistic,
}

impl Operator {
    /// Longer ones first, so that a prefix test finds the right one.
    const ALL: [(&'static str, Operator); 7] = [
        ("!=", Operator::NotEqual),
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        ("~>", Operator::Pessimistic),
        ("=", Operator::Equal),
        (">", Operator::Greater),
        ("<", Operator::Less),
    ];

    fn text(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, operator)| *operator == self)
            .map_or("", |(text, _)| text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Constraint {
    operator: Operator,
    bound: Version,
    /// How many numbers of the bound were written out.
    written: usize,
}

/// Conditions that a version must meet all at once. None at all: any version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constraints(Vec<Constraint>);

impl Constraints {
    /// All conditions of both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        for constraint in &other.0 {
            if !self.0.contains(constraint) {
                self.0.push(constraint.clone());
            }
        }
        self
    }

    /// In the form of lock files: in the order of versions, each once, and versions with all their numbers.
    pub fn canonical(&self) -> String {
        let mut constraints: Vec<&Constraint> = self.0.iter().collect();
        constraints.sort_by_key(|constraint| (&constraint.bound, constraint.canonical_rank()));
        let mut told: Vec<String> = constraints.into_iter().map(Constraint::canonical).collect();
        told.dedup();
        told.join(", ")
    }

    /// Is there no condition?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Does any condition name a prerelease?
    pub fn has_prerelease(&self) -> bool {
        self.0.iter().any(|constraint| constraint.bound.is_prerelease())
    }

    /// May a provider of this version be used? A prerelease only if `=` names it; `~> 1` means below 2.
    pub fn allow_provider(&self, version: &Version) -> bool {
        let named =
            |constraint: &Constraint| constraint.operator == Operator::Equal && constraint.bound == *version;
        (!version.is_prerelease() || self.0.iter().any(named))
            && self
                .0
                .iter()
                .all(|constraint| constraint.holds_for_provider(version))
    }

    /// May a module or a Terraform of this version be used? A prerelease only beside conditions that hold a prerelease
    /// of the same numbers; `~> 1` has no upper bound.
    pub fn allow(&self, version: &Version) -> bool {
        self.0.iter().all(|constraint| constraint.holds(version))
    }
}

impl Constraint {
    /// Does `~>` leave all but the first number open?
    fn is_minor(&self) -> bool {
        self.operator == Operator::Pessimistic && self.written < 3
    }

    fn canonical_rank(&self) -> u8 {
        match self.operator {
            Operator::Greater => 1,
            Operator::AtLeast => 2,
            Operator::Equal => 3,
            Operator::Pessimistic => 4 + u8::from(self.is_minor()),
            Operator::AtMost => 6,
            Operator::Less => 7,
            Operator::NotEqual => 8,
        }
    }

    fn canonical(&self) -> String {
        let bound = self.bound.to_string();
        let version = match bound.rsplit_once('.') {
            Some((minor, _)) if self.is_minor() && !self.bound.is_prerelease() => minor,
            _ => &bound,
        };
        match self.operator {
            Operator::Equal => version.to_owned(),
            operator => format!("{} {version}", operator.text()),
        }
    }

    fn holds_for_provider(&self, version: &Version) -> bool {
        let order = version.precedence(&self.bound);
        match self.operator {
            Operator::Equal => order.is_eq() && version.build == self.bound.build,
            Operator::NotEqual => order.is_ne() || version.build != self.bound.build,
            Operator::Greater => order.is_gt(),
            Operator::Less => order.is_lt(),
            Operator::AtLeast => order.is_ge(),
            Operator::AtMost => order.is_le(),
            Operator::Pessimistic => {
                let kept = if self.written >= 3 { 2 } else { 1 };
                order.is_ge()
                    && version
                        .numbers
                        .iter()
                        .take(kept)
                        .eq(self.bound.numbers.iter().take(kept))
            }
        }
    }

    fn holds(&self, version: &Version) -> bool {
        let order = version.precedence(&self.bound);
        let comparable = match (version.is_prerelease(), self.bound.is_prerelease()) {
            (true, true) => version.same_numbers(&self.bound),
            (true, false) => false,
            (false, _) => true,
        };
        match self.operator {
            Operator::Equal => order.is_eq(),
            Operator::NotEqual => order.is_ne(),
            Operator::Greater => comparable && order.is_gt(),
            Operator::Less => comparable && order.is_lt(),
            Operator::AtLeast => comparable && order.is_ge(),
            Operator::AtMost => comparable && order.is_le(),
            Operator::Pessimistic => {
                let kept = self.written - 1;
                comparable
                    && (version.is_prerelease() || !self.bound.is_prerelease())
                    && order.is_ge()
                    && version
                        .numbers
                        .iter()
                        .take(kept)
                        .eq(self.bound.numbers.iter().take(kept))
            }
        }
    }
}

/// As written, one space after each operator, `=` left out.
impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, constraint) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            if constraint.operator != Operator::Equal {
                write!(f, "{} ", constraint.operator.text())?;
            }
            if constraint.bound.pre.is_empty() && constraint.bound.build.is_empty() {
                for (at, number) in constraint
                    .bound
                    .numbers
                    .iter()
                    .take(constraint.written)
                    .enumerate()
                {
                    write!(f, "{}{number}", if at > 0 { "." } else { "" })?;
                }
            } else {
                write!(f, "{}", constraint.bound)?;
            }
        }
        Ok(())
    }
}

/// Reads conditions with commas between them: `>= 1.2, < 2`. Without an operator `=` is meant.
impl FromStr for Constraints {
    type Err = VersionError;

    fn from_str(text: &str) -> Result<Self, VersionError> {
        let constraints = text.split(',').map(|part| {
            let part = part.trim();
            let (operator, rest) = Operator::ALL
                .iter()
                .find_map(|(sign, operator)| Some((*operator, part.strip_prefix(sign)?)))
                .unwrap_or((Operator::Equal, part));
            let (bound, written) = parse_version(rest.trim_start())?;
            Some(Constraint {
                operator,
                bound,
                written,
            })
        });
        constraints
            .collect::<Option<Vec<_>>>()
            .map(Self)
            .ok_or_else(|| VersionError {
                text: text.to_owned(),
                wanted: "a constraint is one of = != > >= < <= ~> and a version, with commas between several",
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    /// `providers` and `others`: which of the candidates each question lets through.
    fn check(constraints: &str, candidates: &str, providers: &str, others: &str) {
        let parsed: Constraints = constraints.parse().unwrap();
        let allowed = |question: &dyn Fn(&Version) -> bool| {
            candidates
                .split_whitespace()
                .filter(|candidate| question(&version(candidate)))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            allowed(&|v| parsed.allow_provider(v)),
            providers,
            "providers: {constraints}"
        );
        assert_eq!(allowed(&|v| parsed.allow(v)), others, "others: {constraints}");
    }

    #[test]
    fn operators() {
        let all = "0.9.0 1.0.0 1.2.0 1.2.3 1.3.0 2.0.0";
        check("1.2.3", all, "1.2.3", "1.2.3");
        check("= 1.2", all, "1.2.0", "1.2.0");
        check(
            "!= 1.2.3",
            all,
            "0.9.0 1.0.0 1.2.0 1.3.0 2.0.0",
            "0.9.0 1.0.0 1.2.0 1.3.0 2.0.0",
        );
        check("> 1.2.3", all, "1.3.0 2.0.0", "1.3.0 2.0.0");
        check(">=1.2.3, <2", all, "1.2.3 1.3.0", "1.2.3 1.3.0");
        check("<= 1.0.0", all, "0.9.0 1.0.0", "0.9.0 1.0.0");
        check("~> 1.2", all, "1.2.0 1.2.3 1.3.0", "1.2.0 1.2.3 1.3.0");
        check("~> 1.2.0", all, "1.2.0 1.2.3", "1.2.0 1.2.3");
        // The two libraries part ways here.
        check(
            "~> 1",
            all,
            "1.0.0 1.2.0 1.2.3 1.3.0",
            "1.0.0 1.2.0 1.2.3 1.3.0 2.0.0",
        );
    }

    #[test]
    fn prereleases() {
        let all = "1.0.0-beta1 1.0.0-beta2 1.0.0 1.1.0-rc.1 1.1.0";
        check(">= 0.1", all, "1.0.0 1.1.0", "1.0.0 1.1.0");
        check("1.0.0-beta1", all, "1.0.0-beta1", "1.0.0-beta1");
        check(
            ">= 1.0.0-beta1",
            all,
            "1.0.0 1.1.0",
            "1.0.0-beta1 1.0.0-beta2 1.0.0 1.1.0",
        );
        check("~> 1.0.0-beta1", all, "1.0.0", "1.0.0-beta1 1.0.0-beta2");
        check("= 1.0.0-beta1, >= 0.1", all, "1.0.0-beta1", "");
    }

    #[test]
    fn order() {
        let texts = [
            "1.0.0-alpha",
            "1.0.0-alpha.1",
            "1.0.0-alpha.beta",
            "1.0.0-beta.2",
            "1.0.0-beta.11",
            "1.0.0",
            "1.0.1",
            "1.10.0",
        ];
        let mut sorted: Vec<Version> = texts.iter().rev().map(|text| version(text)).collect();
        sorted.sort();
        assert_eq!(sorted.iter().map(ToString::to_string).collect::<Vec<_>>(), texts);
    }

    #[test]
    fn written_forms() {
        for (text, shown) in [
            ("v1.2", "1.2.0"),
            ("1.2.3.4", "1.2.3.4"),
            ("1.2.3beta", "1.2.3-beta"),
            ("1.2.3+x.1", "1.2.3+x.1"),
        ] {
            assert_eq!(version(text).to_string(), shown);
        }
        let shown = |text: &str| text.parse::<Constraints>().unwrap().to_string();
        assert_eq!(shown(">=1.2,<  2, =3"), ">= 1.2, < 2, 3");
        for bad in [
            "",
            "x",
            "1.",
            "1..2",
            "1.2.3-",
            "1.2.3-a..b",
            "99999999999999999999",
            "-1",
        ] {
            assert!(bad.parse::<Version>().is_err(), "{bad}");
        }
        for bad in ["", ">= 1,", "=> 1", "~ 1", ">= 1 < 2"] {
            assert!(bad.parse::<Constraints>().is_err(), "{bad}");
        }
    }
}
