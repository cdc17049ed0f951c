//! Ranges of versions as Flux has them for tags: `>=1.0.0 <2.0.0`, `1.x`, `^1.2`, `~1.2.3`, `1.0 - 2.0`, `a || b`.
//!
//! Not Terraform's constraints. As there, pre-releases fit only a range that names one.

use semver::{Comparator, Op, Prerelease, Version};

use crate::fault::Fault;

/// Alternatives, each a list of conditions.
#[derive(Clone, Debug)]
pub(crate) struct Range(Vec<Vec<Condition>>);

#[derive(Clone, Debug)]
enum Condition {
    Is(Comparator),
    IsNot(Comparator),
}

impl Range {
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let malformed = || {
            Fault::asked(format!(
                "{text:?} is not a range of semantic versions, such as \">=1.0.0 <2.0.0\"."
            ))
        };
        let alternatives = text
            .split("||")
            .map(|part| conditions(part).ok_or_else(malformed));
        Ok(Self(alternatives.collect::<Result<_, _>>()?))
    }

    pub(crate) fn allows(&self, version: &Version) -> bool {
        self.0.iter().any(|conditions| {
            let named = |comparator: &Comparator| !comparator.pre.is_empty();
            let with_pre = conditions.iter().any(|condition| match condition {
                Condition::Is(comparator) | Condition::IsNot(comparator) => named(comparator),
            });
            if !version.pre.is_empty() && !with_pre {
                return false;
            }
            conditions.iter().all(|condition| match condition {
                Condition::Is(comparator) => fits(comparator, version),
                Condition::IsNot(comparator) => !fits(comparator, version),
            })
        })
    }

    /// The newest version that is allowed, of names that may begin with `v`.
    pub(crate) fn newest<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
        let versions = names.filter_map(|name| Some((version(name)?, name)));
        let allowed = versions.filter(|(version, _)| self.allows(version));
        allowed.max().map(|(_, name)| name)
    }
}

/// A tag's version, if it is one; missing parts are 0.
fn version(name: &str) -> Option<Version> {
    let text = name.strip_prefix('v').unwrap_or(name);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let dots = core.matches('.').count();
    let fill = [".0.0", ".0", ""].get(dots)?;
    Version::parse(&format!("{core}{fill}{rest}")).ok()
}

/// `semver` has no comparison of pre-releases across versions: its comparators hold for the same one alone.
fn fits(comparator: &Comparator, version: &Version) -> bool {
    if comparator.pre.is_empty() {
        let released = Version {
            pre: Prerelease::EMPTY,
            ..version.clone()
        };
        // A pre-release comes before its release.
        return match comparator.op {
            Op::Greater | Op::GreaterEq if !version.pre.is_empty() => {
                let least = least(comparator);
                *version > least
            }
            Op::Less if !version.pre.is_empty() => *version < least(comparator),
            _ => comparator.matches(&released),
        };
    }
    let least = least(comparator);
    match comparator.op {
        Op::Greater => *version > least,
        Op::GreaterEq => *version >= least,
        Op::Less => *version < least,
        Op::LessEq => *version <= least,
        Op::Exact => version.cmp_precedence(&least).is_eq(),
        _ => {
            let plain = Comparator {
                pre: Prerelease::EMPTY,
                ..comparator.clone()
            };
            let released = Version {
                pre: Prerelease::EMPTY,
                ..version.clone()
            };
            *version >= least && plain.matches(&released)
        }
    }
}

fn least(comparator: &Comparator) -> Version {
    Version {
        major: comparator.major,
        minor: comparator.minor.unwrap_or(0),
        patch: comparator.patch.unwrap_or(0),
        pre: comparator.pre.clone(),
        build: semver::BuildMetadata::EMPTY,
    }
}

fn conditions(text: &str) -> Option<Vec<Condition>> {
    if let Some((low, high)) = text.split_once(" - ") {
        return Some(vec![
            condition(&format!(">={}", low.trim()))?,
            condition(&format!("<={}", high.trim()))?,
        ]);
    }
    // An operator may stand apart from its version.
    let mut words = Vec::<String>::new();
    for word in text.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
        match words
            .last_mut()
            .filter(|last| last.ends_with(['=', '<', '>', '~', '^', '!']))
        {
            Some(last) => last.push_str(word),
            None => words.push(word.to_owned()),
        }
    }
    if words.is_empty() {
        return None;
    }
    words.iter().map(|word| condition(word)).collect()
}

fn condition(word: &str) -> Option<Condition> {
    let at = word.find(|c: char| !"=<>~^!".contains(c))?;
    let (operator, version) = word.split_at(at);
    let version = version.strip_prefix('v').unwrap_or(version);
    let partial = version.split('.').count() < 3 || version.contains(['x', 'X', '*']);
    // What is left open is left out, so that it stays open.
    let version = if version.contains('-') {
        version.to_owned()
    } else {
        let kept: Vec<&str> = version
            .split('.')
            .take_while(|part| !matches!(*part, "x" | "X" | "*"))
            .collect();
        kept.join(".")
    };
    if version.is_empty() {
        return matches!(operator, "" | "=" | "^" | "~" | ">=").then(|| {
            Condition::Is(Comparator {
                op: Op::GreaterEq,
                major: 0,
                minor: None,
                patch: None,
                pre: Prerelease::EMPTY,
            })
        });
    }
    let parse = |operator: &str| format!("{operator}{version}").parse::<Comparator>().ok();
    Some(match operator {
        // A part of a version stands for all that begin with it.
        "" | "=" | "==" if partial => Condition::Is(parse("=")?),
        "" | "=" | "==" => Condition::Is(parse("=")?),
        "!=" => Condition::IsNot(parse("=")?),
        "~" | "~>" => Condition::Is(parse("~")?),
        "^" | "<" | ">" | "<=" | ">=" => Condition::Is(parse(operator)?),
        "=<" => Condition::Is(parse("<=")?),
        "=>" => Condition::Is(parse(">=")?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_that_fits_is_taken() {
        let names = [
            "v0.9.0",
            "v1.0.0",
            "1.2.3",
            "v1.2.4-rc.1",
            "v1.3.0",
            "v2.0.0-beta.1",
            "v2.0.0",
            "v2.1",
            "main",
            "v3.0.0+b",
        ];
        let check = |range: &str, want: Option<&str>| {
            let got = Range::parse(range).unwrap().newest(names.iter().copied());
            assert_eq!(got, want, "{range}");
        };
        check("*", Some("v3.0.0+b"));
        check("1.x", Some("v1.3.0"));
        check("1", Some("v1.3.0"));
        check("1.2", Some("1.2.3"));
        check("1.2.3", Some("1.2.3"));
        check("^1.0.0", Some("v1.3.0"));
        check("~1.2.0", Some("1.2.3"));
        check("~1.2.4-0", Some("v1.2.4-rc.1"));
        check(">=1.0.0 <2.0.0", Some("v1.3.0"));
        check(">= 1.0.0, < 1.3.0", Some("1.2.3"));
        check(">=1.0.0 !=1.3.0 <2", Some("1.2.3"));
        check("1.0.0 - 1.3.0", Some("v1.3.0"));
        check("0.9.0 || 2.0.x", Some("v2.0.0"));
        check(">=2.0.0-0 <2.0.0", Some("v2.0.0-beta.1"));
        check("<2.0.0", Some("v1.3.0"));
        check("9.x", None);
        for bad in ["", "main", "1.2.3.4", "<>1", "||"] {
            assert!(Range::parse(bad).is_err(), "{bad}");
        }
    }
}
