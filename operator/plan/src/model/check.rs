//! Results of conditions.

/// The result of checks on one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// All conditions held.
    Pass,
    /// A condition did not hold.
    Fail,
    /// A condition could not be evaluated.
    Error,
    /// Not known before apply.
    Unknown,
}

impl CheckStatus {
    /// The one that counts for both together.
    #[must_use]
    pub fn worse(self, other: CheckStatus) -> CheckStatus {
        let rank = |status| match status {
            CheckStatus::Pass => 0,
            CheckStatus::Unknown => 1,
            CheckStatus::Fail => 2,
            CheckStatus::Error => 3,
        };
        if rank(other) > rank(self) { other } else { self }
    }

    /// As in state files and JSON plans.
    pub fn as_str(self) -> &'static str {
        match self {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Error => "error",
            CheckStatus::Unknown => "unknown",
        }
    }
}

/// The result of one object's checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The worst of its conditions' results.
    pub status: CheckStatus,
    /// What the conditions that did not hold say, in order.
    pub problems: Vec<String>,
    /// Is this no object's, but a declaration's that has no objects?
    pub vacant: bool,
}

impl Check {
    /// A result of an object, without problems.
    pub fn of(status: CheckStatus) -> Self {
        Self {
            status,
            problems: Vec::new(),
            vacant: false,
        }
    }
}
