//! Numbers as decimal text: reading as Go's `big.ParseFloat`, writing as its `Text('f', -1)` and `Text('g', n)`.

use std::fmt;

use dashu_base::BitTest;
use dashu_int::UBig;

use super::{Digits, EXPONENT_LIMIT, Float, Kind, Number};

/// Reads base-10 text: sign, digits with at most one point, an exponent of ten after `e` or of two after `p`; or
/// `inf`, `Inf`.
pub(super) fn parse(text: &str, precision: u32) -> Option<Number> {
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, text.get(1..)?),
        b'+' => (false, text.get(1..)?),
        _ => (false, text),
    };
    if matches!(unsigned, "inf" | "Inf") {
        return Some(Number {
            precision,
            kind: Kind::Infinite(negative),
        });
    }
    if unsigned.len() <= 18 && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let value: i64 = unsigned.parse().ok()?;
        let kind = match (value, negative) {
            (0, true) => Kind::NegativeZero,
            _ => Kind::Small(if negative { -value } else { value }),
        };
        return Some(Number { precision, kind });
    }
    let end = unsigned.find(['e', 'E', 'p', 'P']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at(end);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (mut ten, mut two) = (-i64::try_from(fraction.len()).ok()?, 0);
    if let Some(power) = exponent.get(1..) {
        let unsigned = power.strip_prefix(['+', '-']).unwrap_or(power);
        if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        // Out of i64 is out of any bound, unless the mantissa is zero.
        let power = power.parse().unwrap_or(i64::MAX / 4);
        if exponent.starts_with(['e', 'E']) {
            ten += power
        } else {
            two = power
        }
    }
    let significant = digits.trim_start_matches('0');
    if significant.is_empty() {
        return Some(Number {
            precision,
            kind: if negative {
                Kind::NegativeZero
            } else {
                Kind::Small(0)
            },
        });
    }
    // Bounds before work: the decimal exponent of the first digit, and the binary one.
    let first = ten.saturating_add(i64::try_from(significant.len()).ok()?);
    if first.unsigned_abs() > EXPONENT_LIMIT.unsigned_abs()
        || two.unsigned_abs() > EXPONENT_LIMIT.unsigned_abs()
    {
        return None;
    }
    // Digits of a fraction beyond the smallest exponent could be very many.
    if ten < -2 * EXPONENT_LIMIT {
        return None;
    }
    let mantissa = UBig::from_str_radix(significant, 10).ok()?;
    // 10^ten = 5^ten · 2^ten
    let float = Float {
        negative,
        mantissa,
        exponent: two + ten,
    };
    let power = power_of_five(ten.unsigned_abs(), precision);
    let exact = if ten < 0 {
        float.divide(&power, precision)
    } else {
        float.multiply(&power)
    };
    let number = Number::settled(exact.rounded(precision), precision);
    (!number.is_infinite() && !number.is_zero()).then_some(number)
}

/// 5 to the power, as `big.Float` computes it: rounded at 64 bits more than the result, and its squares at 128 more.
fn power_of_five(power: u64, precision: u32) -> Float {
    const EXACT: u64 = 27;
    let five = Float {
        negative: false,
        mantissa: UBig::from(5u8),
        exponent: 0,
    };
    let start = Float {
        negative: false,
        mantissa: UBig::from(5u8).pow(usize::try_from(power.min(EXACT)).unwrap_or(0)),
        exponent: 0,
    };
    let mut rest = power.saturating_sub(EXACT);
    let (mut result, mut square) = (start, five);
    while rest > 0 {
        if rest & 1 == 1 {
            result = result.multiply(&square).rounded(precision + 64);
        }
        square = square.multiply(&square).rounded(precision + 128);
        rest >>= 1;
    }
    result
}

/// Decimal digits without leading or trailing zeros: the number is `0.digits · 10^point`.
struct Decimal {
    digits: Vec<u8>,
    point: i64,
}

impl Decimal {
    /// The exact value of `mantissa · 2^exponent`.
    fn new(mantissa: &UBig, exponent: i64) -> Self {
        let shift = usize::try_from(exponent.unsigned_abs()).unwrap_or(0);
        let whole = if exponent >= 0 {
            mantissa << shift
        } else {
            mantissa * UBig::from(5u8).pow(shift)
        };
        let mut digits = whole.to_string().into_bytes();
        let point = digits.len() as i64 + exponent.min(0);
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        Self { digits, point }
    }

    /// The digit at a position, zeros after the last.
    fn at(&self, position: usize) -> u8 {
        self.digits.get(position).copied().unwrap_or(b'0')
    }

    /// Rounds to nearest even at this many digits.
    fn round(&mut self, length: usize) {
        let Some(next) = self.digits.get(length) else {
            return;
        };
        let tie = *next == b'5' && length + 1 == self.digits.len();
        let up = if tie {
            length > 0 && self.at(length - 1) % 2 == 1
        } else {
            *next >= b'5'
        };
        if up {
            self.round_up(length)
        } else {
            self.round_down(length)
        }
    }

    fn round_down(&mut self, length: usize) {
        self.digits.truncate(length);
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
    }

    fn round_up(&mut self, length: usize) {
        self.digits.truncate(length);
        while self.digits.last() == Some(&b'9') {
            self.digits.pop();
        }
        match self.digits.last_mut() {
            Some(last) => *last += 1,
            None => {
                self.digits.push(b'1');
                self.point += 1;
            }
        }
    }

    /// Drops the digits that tell the number from no other of its precision.
    fn shorten(&mut self, float: &Float, precision: u32) {
        // The half of a unit of the last place on either side, as a mantissa of one bit more.
        let shift = i64::from(precision) + 1 - float.mantissa.bit_len() as i64;
        let mantissa = &float.mantissa << usize::try_from(shift).unwrap_or(0);
        let exponent = float.exponent - shift.max(0);
        let lower = Self::new(&(&mantissa - 1u8), exponent);
        let upper = Self::new(&(&mantissa + 1u8), exponent);
        // The bounds themselves round to the number only if its mantissa is even.
        let inclusive = !mantissa.bit(1);
        for at in 0..self.digits.len() {
            let (digit, low, high) = (self.at(at), lower.at(at), upper.at(at));
            let down = low != digit || (inclusive && at + 1 == lower.digits.len());
            let up = digit != high && (inclusive || digit + 1 < high || at + 1 < upper.digits.len());
            match (down, up) {
                (true, true) => return self.round(at + 1),
                (true, false) => return self.round_down(at + 1),
                (false, true) => return self.round_up(at + 1),
                (false, false) => {}
            }
        }
    }

    /// Without exponent, with as many zeros as it takes.
    fn write_plain(&self, to: &mut dyn fmt::Write) -> fmt::Result {
        let whole = usize::try_from(self.point.max(0)).unwrap_or(0);
        let text = std::str::from_utf8(&self.digits).map_err(|_| fmt::Error)?;
        if whole == 0 {
            to.write_char('0')?;
        }
        let (before, after) = text.split_at(whole.min(text.len()));
        to.write_str(before)?;
        write_zeros(to, whole.saturating_sub(text.len()))?;
        if !after.is_empty() {
            to.write_char('.')?;
            write_zeros(to, usize::try_from(-self.point.min(0)).unwrap_or(0))?;
            to.write_str(after)?;
        }
        Ok(())
    }

    /// `d.ddde±dd`
    fn write_exponent(&self, to: &mut dyn fmt::Write) -> fmt::Result {
        let text = std::str::from_utf8(&self.digits).map_err(|_| fmt::Error)?;
        let (first, others) = text.split_at(1.min(text.len()));
        let exponent = self.point - 1;
        let dot = if others.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(to, "{first}{dot}{others}e{sign}{:02}", exponent.unsigned_abs())
    }
}

fn write_zeros(to: &mut dyn fmt::Write, count: usize) -> fmt::Result {
    // A width in a format string could not be more than 65,535.
    (0..count).try_for_each(|_| to.write_char('0'))
}

pub(super) fn shortest(number: &Number, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match &number.kind {
        Kind::Infinite(negative) => f.write_str(if *negative { "-Inf" } else { "+Inf" }),
        Kind::NegativeZero => f.write_str("-0"),
        Kind::Small(value) if i64::BITS - value.unsigned_abs().leading_zeros() <= number.precision => {
            write!(f, "{value}")
        }
        Kind::Small(_) | Kind::Big(_) => {
            let Some(float) = number.float() else {
                return Ok(());
            };
            let mut decimal = Decimal::new(&float.mantissa, float.exponent);
            decimal.shorten(&float, number.precision);
            if float.negative {
                f.write_str("-")?;
            }
            decimal.write_plain(f)
        }
    }
}

pub(super) fn general(number: &Number, digits: usize) -> String {
    let mut text = String::new();
    let Some(float) = number.float() else {
        return number.to_string();
    };
    if float.negative {
        text.push('-');
    }
    if float.mantissa.is_zero() {
        text.push('0');
        return text;
    }
    let mut decimal = Decimal::new(&float.mantissa, float.exponent);
    decimal.round(digits);
    let length = decimal.digits.len();
    let (digits, length) = (digits as i64, length as i64);
    let most = if digits > length && length >= decimal.point {
        length
    } else {
        digits
    };
    let exponent = decimal.point - 1;
    // Writing to a String cannot fail.
    let _ = if exponent < -4 || exponent >= most {
        decimal.write_exponent(&mut text)
    } else {
        decimal.write_plain(&mut text)
    };
    text
}

pub(super) fn decimal(number: &Number, digits: Digits) -> Option<(String, i64)> {
    if number.is_zero() {
        return Some((String::new(), 0));
    }
    let float = number.float()?;
    let mut decimal = Decimal::new(&float.mantissa, float.exponent);
    match digits {
        Digits::Shortest => decimal.shorten(&float, number.precision),
        Digits::Significant(count) => decimal.round(count),
        Digits::Places(count) => {
            if let Ok(count) = usize::try_from(decimal.point + count as i64) {
                decimal.round(count);
            } else {
                decimal = Decimal {
                    digits: Vec::new(),
                    point: 0,
                };
            }
        }
    }
    String::from_utf8(decimal.digits)
        .ok()
        .map(|text| (text, decimal.point))
}
