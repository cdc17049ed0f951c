//! Numbers: binary floats, each carrying its precision, with a fast path for integers.
//!
//! cty keeps numbers as Go `big.Float`: a mantissa of as many bits as the number's precision, rounded to nearest even.
//! Literals and texts have 512 bits, integers 64, results of float64 functions 53; operations give what `big.Float`
//! gives, since quotients print differently at different precisions. Integers of 64 bits need no allocation.
//!
//! Unlike there, exponents are bounded (see [`EXPONENT_LIMIT`]), so that no short text makes a long number.

mod arithmetic;
mod float;
mod text;

use std::{cmp::Ordering, fmt, sync::Arc};

use dashu_base::{BitTest, Sign};
use dashu_int::{IBig, UBig};

use self::float::Float;

/// Precision of numbers read from text, in bits.
const TEXT_PRECISION: u32 = 512;
/// Precision of numbers made from integers, in bits.
const INTEGER_PRECISION: u32 = 64;
/// Precision of numbers made from f64, in bits.
const FLOAT_PRECISION: u32 = 53;
/// The greatest binary exponent, either way: numbers up to some 78,000 digits. Text beyond is no number; results beyond
/// are infinite or zero.
const EXPONENT_LIMIT: i64 = 1 << 18;

/// A number, never NaN. Immutable, cheap to clone.
///
/// `==` is cty's equality: integers exactly, fractions by their shortest decimal text, zero and minus zero the same.
/// The order by value is [`Number::compare`]; the two disagree for fractions that differ in precision alone, hence no
/// `Ord`.
#[derive(Clone)]
pub struct Number {
    precision: u32,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    /// Any integer that fits, except minus zero.
    Small(i64),
    /// Minus zero.
    NegativeZero,
    /// Any other finite number.
    Big(Arc<Float>),
    /// Infinity, negative if true.
    Infinite(bool),
}

/// Which digits of a decimal expansion are wanted; those dropped round to nearest even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// The fewest that tell the number from all others of its precision.
    Shortest,
    /// So many in all.
    Significant(usize),
    /// So many after the point.
    Places(usize),
}

/// Making numbers.
impl Number {
    /// Reads decimal text as Go's `big.ParseFloat` does in base 10 at 512 bits: `inf`, `1p3` and `.5` are numbers.
    /// `None` if it is no number, or its exponent is out of bounds.
    pub fn parse(text: &str) -> Option<Self> {
        text::parse(text, TEXT_PRECISION)
    }

    /// A number with 53 bits of mantissa; `None` for NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Self {
                precision: FLOAT_PRECISION,
                kind: Kind::Infinite(value < 0.0),
            });
        }
        if value == 0.0 {
            let kind = if value.is_sign_negative() {
                Kind::NegativeZero
            } else {
                Kind::Small(0)
            };
            return Some(Self {
                precision: FLOAT_PRECISION,
                kind,
            });
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let biased = i64::try_from((bits >> 52) & 0x7ff).unwrap_or(0);
        let (mantissa, exponent) = if biased == 0 {
            (fraction, -1074)
        } else {
            (fraction | (1 << 52), biased - 1075)
        };
        Some(Self::rounded(
            value < 0.0,
            UBig::from(mantissa),
            exponent,
            FLOAT_PRECISION,
        ))
    }

    /// A whole number of any size, with as many bits of precision as it needs, at least 64.
    pub fn from_big(value: IBig) -> Self {
        let (sign, magnitude) = value.into_parts();
        let precision = u32::try_from(magnitude.bit_len())
            .unwrap_or(u32::MAX)
            .max(INTEGER_PRECISION);
        Self::rounded(sign == Sign::Negative, magnitude, 0, precision)
    }

    /// Plus or minus infinity.
    pub fn infinity(negative: bool) -> Self {
        Self {
            precision: 0,
            kind: Kind::Infinite(negative),
        }
    }

    /// The same number rounded to nearest even at this many bits of mantissa, which it carries from now on.
    #[must_use]
    pub fn with_precision(&self, bits: u32) -> Self {
        match &self.kind {
            Kind::Infinite(_) | Kind::NegativeZero | Kind::Small(0) => Self {
                precision: bits,
                kind: self.kind.clone(),
            },
            _ => match self.float() {
                Some(float) => Self::rounded(float.negative, float.mantissa, float.exponent, bits),
                None => self.clone(),
            },
        }
    }

    /// `±mantissa · 2^exponent` rounded to the precision.
    fn rounded(negative: bool, mantissa: UBig, exponent: i64, precision: u32) -> Self {
        Self::settled(
            Float {
                negative,
                mantissa,
                exponent,
            }
            .rounded(precision),
            precision,
        )
    }

    /// The smallest form of a number that fits its precision.
    fn settled(float: Float, precision: u32) -> Self {
        let negative = float.negative;
        let kind = if float.mantissa.is_zero() {
            if negative {
                Kind::NegativeZero
            } else {
                Kind::Small(0)
            }
        } else if let Some(small) = float.to_i64() {
            Kind::Small(small)
        } else if float.magnitude() > EXPONENT_LIMIT {
            Kind::Infinite(negative)
        } else if float.magnitude() < -EXPONENT_LIMIT || float.exponent < -EXPONENT_LIMIT - (1 << 16) {
            if negative {
                Kind::NegativeZero
            } else {
                Kind::Small(0)
            }
        } else {
            Kind::Big(Arc::new(float))
        };
        Self { precision, kind }
    }

    /// The number as a float in lowest terms; `None` if infinite.
    fn float(&self) -> Option<Float> {
        match &self.kind {
            Kind::Small(value) => Some(Float::from_i64(*value)),
            Kind::NegativeZero => Some(Float {
                negative: true,
                mantissa: UBig::ZERO,
                exponent: 0,
            }),
            Kind::Big(float) => Some(Float::clone(float)),
            Kind::Infinite(_) => None,
        }
    }
}

/// What it is.
impl Number {
    /// Bits of mantissa it is kept at; 0 for an infinity that came from no number.
    pub fn precision(&self) -> u32 {
        self.precision
    }

    /// -1, 0 or 1; 0 for both zeros.
    pub fn sign(&self) -> i32 {
        let negative = match &self.kind {
            Kind::Small(value) => return value.signum() as i32,
            Kind::NegativeZero => return 0,
            Kind::Big(float) => float.negative,
            Kind::Infinite(negative) => *negative,
        };
        if negative { -1 } else { 1 }
    }

    /// Has it a minus sign, minus zero included?
    fn is_signed(&self) -> bool {
        self.sign() < 0 || self.is_negative_zero()
    }

    /// Plus or minus infinity?
    pub fn is_infinite(&self) -> bool {
        matches!(self.kind, Kind::Infinite(_))
    }

    /// Zero, of either sign?
    pub fn is_zero(&self) -> bool {
        self.sign() == 0
    }

    /// A whole number (infinity is not)?
    pub fn is_integer(&self) -> bool {
        match &self.kind {
            Kind::Small(_) | Kind::NegativeZero => true,
            Kind::Big(float) => float.exponent >= 0,
            Kind::Infinite(_) => false,
        }
    }

    /// Zero with a minus sign?
    pub fn is_negative_zero(&self) -> bool {
        matches!(self.kind, Kind::NegativeZero)
    }

    /// The number as an i64, if it is a whole number in range.
    pub fn to_i64(&self) -> Option<i64> {
        match &self.kind {
            Kind::Small(value) => Some(*value),
            Kind::NegativeZero => Some(0),
            Kind::Big(_) | Kind::Infinite(_) => None,
        }
    }

    /// The nearest f64, ties to even; infinite where the number is too large for one.
    pub fn to_f64(&self) -> f64 {
        match &self.kind {
            Kind::Small(value) => *value as f64,
            Kind::NegativeZero => -0.0,
            Kind::Big(float) => float.to_f64(),
            Kind::Infinite(negative) => {
                if *negative {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }
        }
    }

    /// Is it exactly an f64?
    pub fn to_f64_exact(&self) -> Option<f64> {
        let nearest = self.to_f64();
        let back = Self::from_f64(nearest)?;
        (back.compare(self) == Ordering::Equal).then_some(nearest)
    }

    /// The whole part, towards zero; `None` if infinite.
    pub fn to_big(&self) -> Option<IBig> {
        let float = self.float()?;
        let sign = if float.negative {
            Sign::Negative
        } else {
            Sign::Positive
        };
        Some(IBig::from_parts(sign, float.whole_part()))
    }

    /// The order by exact value; zero and minus zero are the same.
    pub fn compare(&self, other: &Self) -> Ordering {
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind) {
            return a.cmp(b);
        }
        let signs = self.sign().cmp(&other.sign());
        if signs != Ordering::Equal || self.sign() == 0 {
            return signs;
        }
        let magnitudes = match (self.float(), other.float()) {
            (Some(a), Some(b)) => a.compare_magnitude(&b),
            (None, Some(_)) => Ordering::Greater,
            (Some(_), None) => Ordering::Less,
            (None, None) => Ordering::Equal,
        };
        if self.sign() < 0 {
            magnitudes.reverse()
        } else {
            magnitudes
        }
    }

    /// The text of Go's `%.{digits}g`: so many significant digits, exponent form for very large and very small.
    pub fn to_general(&self, digits: usize) -> String {
        text::general(self, digits)
    }

    /// The decimal digits of the magnitude, without leading or trailing zeros, and where the point stands: the magnitude is
    /// `0.digits · 10^point`. No digits for zero, `None` for infinity.
    pub fn decimal(&self, digits: Digits) -> Option<(String, i64)> {
        text::decimal(self, digits)
    }

    /// A text that is the same for equal numbers only; minus zero differs from zero.
    pub(crate) fn equality_key(&self) -> String {
        match &self.kind {
            Kind::Big(float) if float.exponent >= 0 => {
                format!(
                    "{}{:x}p{}",
                    if float.negative { "-" } else { "" },
                    float.mantissa,
                    float.exponent
                )
            }
            _ => self.to_string(),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self {
            precision: INTEGER_PRECISION,
            kind: Kind::Small(value),
        }
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        i64::from(value).into()
    }
}

impl From<u32> for Number {
    fn from(value: u32) -> Self {
        i64::from(value).into()
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        match i64::try_from(value) {
            Ok(value) => value.into(),
            Err(_) => Self::rounded(false, UBig::from(value), 0, INTEGER_PRECISION),
        }
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        (value as u64).into()
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Infinite(a), Kind::Infinite(b)) => a == b,
            (Kind::Big(a), Kind::Big(b)) if a == b && self.precision == other.precision => true,
            (Kind::Big(a), Kind::Big(b)) if a.exponent < 0 && b.exponent < 0 => {
                a.negative == b.negative
                    && may_share_text(self, other)
                    && self.to_string() == other.to_string()
            }
            _ => self.is_integer() == other.is_integer() && self.compare(other) == Ordering::Equal,
        }
    }
}

impl Eq for Number {}

/// Text is made only for fractions so close to each other that their shortest texts could be the same: those differ by
/// half a unit of the last place each, which at 53 bits and more is below this.
fn may_share_text(a: &Number, b: &Number) -> bool {
    let (near_a, near_b) = (a.to_f64(), b.to_f64());
    a.precision.min(b.precision) < FLOAT_PRECISION
        || !near_a.is_normal()
        || !near_b.is_normal()
        || (near_a - near_b).abs() <= near_a.abs() * 1e-14
}

/// The shortest decimal text that gives the number back at its precision, never with an exponent; `+Inf` and `-Inf`.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        text::shortest(self, f)
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests;
