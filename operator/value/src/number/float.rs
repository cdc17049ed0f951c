//! Finite binary floats of any size and their rounding; knows no precision of its own.

use std::cmp::Ordering;

use dashu_base::{BitTest, DivRem};
use dashu_int::UBig;

/// `±mantissa · 2^exponent`; the mantissa is odd, or zero, once rounded.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Float {
    pub(super) negative: bool,
    pub(super) mantissa: UBig,
    pub(super) exponent: i64,
}

impl Float {
    pub(super) fn from_i64(value: i64) -> Self {
        Self {
            negative: value < 0,
            mantissa: UBig::from(value.unsigned_abs()),
            exponent: 0,
        }
        .reduced()
    }

    /// Without trailing zeros in the mantissa.
    fn reduced(mut self) -> Self {
        match self.mantissa.trailing_zeros() {
            Some(zeros) if zeros > 0 => {
                self.mantissa >>= zeros;
                self.exponent += zeros as i64;
            }
            Some(_) => {}
            None => self.exponent = 0,
        }
        self
    }

    /// Rounded to nearest even at this many bits of mantissa; at 0 bits nothing is left.
    pub(super) fn rounded(mut self, precision: u32) -> Self {
        let bits = self.mantissa.bit_len();
        let precision = precision as usize;
        if bits > precision {
            let excess = bits - precision;
            let round_up = precision > 0
                && self.mantissa.bit(excess - 1)
                && (self.mantissa.bit(excess)
                    || self
                        .mantissa
                        .trailing_zeros()
                        .is_some_and(|zeros| zeros < excess - 1));
            self.mantissa >>= excess;
            self.exponent += excess as i64;
            if round_up {
                self.mantissa += 1u8;
            }
        }
        self.reduced()
    }

    /// The exponent of the highest bit, plus one: the number is below 2 to this.
    pub(super) fn magnitude(&self) -> i64 {
        self.exponent.saturating_add(self.mantissa.bit_len() as i64)
    }

    pub(super) fn to_i64(&self) -> Option<i64> {
        if self.exponent < 0 || self.magnitude() > 64 {
            return None;
        }
        let magnitude = u64::try_from(&self.mantissa << usize::try_from(self.exponent).ok()?).ok()?;
        if self.negative {
            0i64.checked_sub_unsigned(magnitude)
        } else {
            i64::try_from(magnitude).ok()
        }
    }

    pub(super) fn whole_part(&self) -> UBig {
        if self.exponent >= 0 {
            &self.mantissa << usize::try_from(self.exponent).unwrap_or(0)
        } else {
            &self.mantissa >> usize::try_from(-self.exponent).unwrap_or(usize::MAX)
        }
    }

    pub(super) fn to_f64(&self) -> f64 {
        // Below the normal range there are fewer bits to round to.
        let room = (self.magnitude() + 1074).clamp(0, 53);
        let float = if room == 0 {
            // Half of the least number and less goes to zero, more than half to the least.
            let up = self.magnitude() == -1074 && self.mantissa.bit_len() > 1;
            Float {
                negative: self.negative,
                mantissa: UBig::from(u8::from(up)),
                exponent: -1074,
            }
        } else {
            self.clone().rounded(room as u32)
        };
        let magnitude = if float.magnitude() > 1024 {
            f64::INFINITY
        } else {
            let mantissa = u64::try_from(&float.mantissa).unwrap_or(0) as f64;
            // Two steps, for the power alone may be out of range; neither rounds.
            let half = float.exponent / 2;
            mantissa * 2f64.powi(half as i32) * 2f64.powi((float.exponent - half) as i32)
        };
        if self.negative { -magnitude } else { magnitude }
    }

    /// Compares without signs.
    pub(super) fn compare_magnitude(&self, other: &Self) -> Ordering {
        if self.mantissa.is_zero() || other.mantissa.is_zero() {
            return self.mantissa.cmp(&other.mantissa);
        }
        self.magnitude().cmp(&other.magnitude()).then_with(|| {
            let [a, b] = aligned(self, other);
            a.cmp(&b)
        })
    }

    /// The exact sum.
    pub(super) fn add(&self, other: &Self) -> Self {
        let [a, b] = aligned(self, other);
        let exponent = self.exponent.min(other.exponent);
        if self.negative == other.negative {
            return Self {
                negative: self.negative,
                mantissa: a + b,
                exponent,
            };
        }
        match a.cmp(&b) {
            // Rounding to nearest makes a sum of zero positive.
            Ordering::Equal => Self {
                negative: false,
                mantissa: UBig::ZERO,
                exponent: 0,
            },
            Ordering::Greater => Self {
                negative: self.negative,
                mantissa: a - b,
                exponent,
            },
            Ordering::Less => Self {
                negative: other.negative,
                mantissa: b - a,
                exponent,
            },
        }
    }

    /// The exact product.
    pub(super) fn multiply(&self, other: &Self) -> Self {
        Self {
            negative: self.negative != other.negative,
            mantissa: &self.mantissa * &other.mantissa,
            exponent: self.exponent + other.exponent,
        }
    }

    /// The quotient, of which rounding to `precision` gives what rounding the exact one would; the divisor is not zero.
    pub(super) fn divide(&self, other: &Self, precision: u32) -> Self {
        // Enough bits for the precision and one to round by; the remainder only tells a tie from more.
        let wanted = precision as usize + 2 + other.mantissa.bit_len();
        let shift = wanted.saturating_sub(self.mantissa.bit_len());
        let (quotient, remainder) = (&self.mantissa << shift).div_rem(&other.mantissa);
        let sticky = u8::from(!remainder.is_zero());
        Self {
            negative: self.negative != other.negative,
            mantissa: (quotient << 1usize) | UBig::from(sticky),
            exponent: self.exponent - other.exponent - shift as i64 - 1,
        }
    }
}

/// The mantissas at the lower of the two exponents. Exponents are bounded, hence so is the shift.
fn aligned(a: &Float, b: &Float) -> [UBig; 2] {
    let lower = a.exponent.min(b.exponent);
    [a, b].map(|float| {
        let shift = if float.mantissa.is_zero() {
            0
        } else {
            float.exponent - lower
        };
        &float.mantissa << usize::try_from(shift).unwrap_or(0)
    })
}
