//! Constraints on versions, with the two questions that Terraform's two libraries have.

use std::{fmt, str::FromStr};

use super::{Version, VersionError, parse_version};

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
