//! Arithmetic on numbers, with the precision of results that cty gets from `big.Float`.

use dashu_base::BitTest;

use super::{Float, INTEGER_PRECISION, Kind, Number, TEXT_PRECISION};

impl Number {
    /// With the opposite sign.
    #[must_use]
    pub fn negate(&self) -> Self {
        let kind = match &self.kind {
            Kind::Small(0) => Kind::NegativeZero,
            Kind::NegativeZero => Kind::Small(0),
            Kind::Infinite(negative) => Kind::Infinite(!negative),
            Kind::Small(value) if *value != i64::MIN => Kind::Small(-value),
            Kind::Small(_) | Kind::Big(_) => {
                return match self.float() {
                    Some(float) => Self::settled(
                        Float {
                            negative: !float.negative,
                            ..float
                        },
                        self.precision,
                    ),
                    None => self.clone(),
                };
            }
        };
        Self {
            precision: self.precision,
            kind,
        }
    }

    /// Without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        if self.is_signed() {
            self.negate()
        } else {
            self.clone()
        }
    }

    /// The greatest whole number that is not greater, at the same precision.
    #[must_use]
    pub fn floor(&self) -> Self {
        self.whole(|negative| negative)
    }

    /// The least whole number that is not less, at the same precision.
    #[must_use]
    pub fn ceil(&self) -> Self {
        self.whole(|negative| !negative)
    }

    /// The whole part, towards zero, at the same precision.
    #[must_use]
    pub fn trunc(&self) -> Self {
        self.whole(|_| false)
    }

    /// The whole part of a fraction, one further from zero if `away` says so for its sign.
    fn whole(&self, away: fn(bool) -> bool) -> Self {
        match &self.kind {
            Kind::Big(float) if float.exponent < 0 => {
                let mut mantissa = float.whole_part();
                if away(float.negative) {
                    mantissa += 1u8;
                }
                let negative = float.negative && !mantissa.is_zero();
                Self::rounded(negative, mantissa, 0, self.precision)
            }
            _ => self.clone(),
        }
    }

    /// The sum, at the greater precision; `None` for infinity minus infinity.
    pub fn add(&self, other: &Self) -> Option<Self> {
        let precision = self.precision.max(other.precision);
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind)
            && let Some(sum) = a.checked_add(*b)
            && precision >= INTEGER_PRECISION
        {
            return Some(Self {
                precision,
                kind: Kind::Small(sum),
            });
        }
        match (self.float(), other.float()) {
            (Some(a), Some(b)) if a.mantissa.is_zero() && b.mantissa.is_zero() => {
                let kind = if a.negative && b.negative {
                    Kind::NegativeZero
                } else {
                    Kind::Small(0)
                };
                Some(Self { precision, kind })
            }
            (Some(a), Some(b)) => Some(Self::settled(a.add(&b).rounded(precision), precision)),
            (None, None) if self.is_signed() != other.is_signed() => None,
            (None, _) => Some(Self {
                precision,
                kind: Kind::Infinite(self.is_signed()),
            }),
            (_, None) => Some(Self {
                precision,
                kind: Kind::Infinite(other.is_signed()),
            }),
        }
    }

    /// The difference, at the greater precision; `None` for infinity minus infinity.
    pub fn subtract(&self, other: &Self) -> Option<Self> {
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind)
            && let Some(difference) = a.checked_sub(*b)
        {
            let precision = self.precision.max(other.precision);
            if precision >= INTEGER_PRECISION {
                return Some(Self {
                    precision,
                    kind: Kind::Small(difference),
                });
            }
        }
        self.add(&other.negate())
    }

    /// The product, exact as long as 512 bits hold it, at the greater precision or the bits it needs; `None` for zero
    /// times infinity.
    pub fn multiply(&self, other: &Self) -> Option<Self> {
        let precision = self.precision.max(other.precision);
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind)
            && let Some(product) = a.checked_mul(*b)
            && precision >= INTEGER_PRECISION
            && (product != 0 || (*a >= 0 && *b >= 0))
        {
            return Some(Self {
                precision,
                kind: Kind::Small(product),
            });
        }
        match (self.float(), other.float()) {
            (Some(a), Some(b)) => {
                let product = a.multiply(&b).rounded(TEXT_PRECISION);
                let needed = u32::try_from(product.mantissa.bit_len()).unwrap_or(u32::MAX);
                Some(Self::settled(product, precision.max(needed)))
            }
            _ if self.is_zero() || other.is_zero() => None,
            _ => Some(Self {
                precision,
                kind: Kind::Infinite(self.is_signed() != other.is_signed()),
            }),
        }
    }

    /// The quotient, at the greater precision; by zero it is infinite. `None` for zero by zero and infinity by
    /// infinity.
    pub fn divide(&self, other: &Self) -> Option<Self> {
        let precision = self.precision.max(other.precision);
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind)
            && precision >= INTEGER_PRECISION
            && *a != 0
            && a.checked_rem(*b) == Some(0)
            && let Some(quotient) = a.checked_div(*b)
        {
            return Some(Self {
                precision,
                kind: Kind::Small(quotient),
            });
        }
        let negative = self.is_signed() != other.is_signed();
        match (self.float(), other.float()) {
            (Some(_), Some(_)) if self.is_zero() && other.is_zero() => None,
            (None, None) => None,
            (None, _) => Some(Self {
                precision,
                kind: Kind::Infinite(negative),
            }),
            (Some(_), Some(_)) if other.is_zero() => Some(Self {
                precision,
                kind: Kind::Infinite(negative),
            }),
            (Some(a), Some(b)) if !self.is_zero() => Some(Self::settled(
                a.divide(&b, precision).rounded(precision),
                precision,
            )),
            (Some(_), _) => Some(Self {
                precision,
                kind: if negative {
                    Kind::NegativeZero
                } else {
                    Kind::Small(0)
                },
            }),
        }
    }

    /// The remainder of the division that rounds towards zero, at the precision of `self`; by zero it is `self`. `None`
    /// with an infinity.
    ///
    /// As in cty it goes through the rounded quotient. (cty means infinities to give the product, but recognises only
    /// its own two constants, which no expression gives.)
    pub fn modulo(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return Some(self.clone());
        }
        if self.is_infinite() || other.is_infinite() {
            return None;
        }
        if let (Kind::Small(a), Kind::Small(b)) = (&self.kind, &other.kind)
            && self.precision >= INTEGER_PRECISION
            && other.precision >= INTEGER_PRECISION
            && let Some(remainder) = a.checked_rem(*b)
        {
            return Some(Self {
                precision: self.precision,
                kind: Kind::Small(remainder),
            });
        }
        let times = self.divide(other)?.trunc().with_precision(self.precision);
        // Cut to a whole number, minus zero has no sign any more.
        let times = if times.is_zero() { times.abs() } else { times };
        let whole = times.float()?.multiply(&other.float()?).rounded(self.precision);
        let difference = self.float()?.add(&Float {
            negative: !whole.negative,
            ..whole
        });
        Some(Self::settled(difference.rounded(self.precision), self.precision))
    }
}
