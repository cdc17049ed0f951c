//! Logarithm and power of 64-bit floats as Go computes them, to the last bit.
//!
//! Terraform users compare what these give; the C library's results differ in the last digit. The logarithm is the
//! FreeBSD algorithm that Go documents, the power goes by squaring of the fraction. Nothing else belongs here.

/// Natural logarithm: reduction to [√½, √2), then a polynomial in s = f / (2 + f).
pub(super) fn log(x: f64) -> f64 {
    const LN2_HIGH: f64 = 6.931_471_803_691_238e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const L: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    if x.is_nan() || x == f64::INFINITY {
        return x;
    }
    if x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    let (mut fraction, mut exponent) = split(x);
    if fraction < std::f64::consts::FRAC_1_SQRT_2 {
        fraction *= 2.0;
        exponent -= 1;
    }
    let f = fraction - 1.0;
    let k = f64::from(exponent);
    let s = f / (2.0 + f);
    let s2 = s * s;
    let s4 = s2 * s2;
    let odd = s2 * (L[0] + s4 * (L[2] + s4 * (L[4] + s4 * L[6])));
    let even = s4 * (L[1] + s4 * (L[3] + s4 * L[5]));
    let r = odd + even;
    let half_square = 0.5 * f * f;
    k * LN2_HIGH - ((half_square - (s * (half_square + r) + k * LN2_LOW)) - f)
}

/// `x` to the power `y`: the whole part of `y` by repeated squaring of the fraction of `x`, the rest by exp and log.
pub(super) fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 || x == 1.0 {
        return 1.0;
    }
    if y == 1.0 {
        return x;
    }
    if x.is_nan() || y.is_nan() {
        return f64::NAN;
    }
    if x == 0.0 || x.is_infinite() || y.is_infinite() {
        // The special cases are those of IEEE 754.
        return x.powf(y);
    }
    if y == 0.5 {
        return x.sqrt();
    }
    if y == -0.5 {
        return 1.0 / x.sqrt();
    }
    let (mut whole, mut rest) = (y.abs().trunc(), y.abs().fract());
    if rest != 0.0 && x < 0.0 {
        return f64::NAN;
    }
    if whole >= 9.223_372_036_854_776e18 {
        return x.powf(y);
    }
    let mut result = 1.0;
    let mut result_exponent: i64 = 0;
    if rest != 0.0 {
        if rest > 0.5 {
            rest -= 1.0;
            whole += 1.0;
        }
        result = exp(rest * log(x));
    }
    let (mut base, exponent) = split(x);
    let mut exponent = i64::from(exponent);
    let mut bits = whole as i64;
    while bits != 0 {
        if !(-4096..=4096).contains(&exponent) {
            // Far outside what a float can hold: the result is zero or infinite.
            result_exponent += exponent;
            break;
        }
        if bits & 1 == 1 {
            result *= base;
            result_exponent += exponent;
        }
        base *= base;
        exponent <<= 1;
        if base < 0.5 {
            base += base;
            exponent -= 1;
        }
        bits >>= 1;
    }
    if y < 0.0 {
        result = 1.0 / result;
        result_exponent = -result_exponent;
    }
    scale(result, result_exponent)
}

/// `e` to the power `x`: reduction by ln 2 and by 16, a Taylor series for `e^x - 1`, then doubling its argument four times.
/// As Go computes it on amd64 with fused multiplication and addition.
fn exp(x: f64) -> f64 {
    const LN2_HIGH: f64 = 0.693_147_180_559_662_956_511_601_805_686_950_683_593_75;
    const LN2_LOW: f64 = 0.282_352_905_630_315_771_225_884_481_750_134_360_255_254_120_68e-12;
    if x > 7.097_827_128_933_84e2 {
        return f64::INFINITY;
    }
    let exponent = (x * std::f64::consts::LOG2_E).round_ties_even();
    if exponent <= -1023.0 {
        return 0.0;
    }
    let reduced = (-exponent).mul_add(LN2_LOW, (-exponent).mul_add(LN2_HIGH, x)) * 0.0625;
    // 1/8!, 1/7!, … 1/2!, 1
    let series = [
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
    ]
    .into_iter()
    .fold(1.0 / 40320.0, |sum: f64, term| sum.mul_add(reduced, term));
    let mut less_one = reduced * series;
    for _ in 0..3 {
        less_one *= less_one + 2.0;
    }
    (less_one + 2.0).mul_add(less_one, 1.0) * power_of_two(exponent as i32)
}

/// A fraction in [½, 1) and a power of two whose product is `x`; `x` is finite and not zero.
fn split(x: f64) -> (f64, i32) {
    let (x, shift) = if x.abs() < f64::MIN_POSITIVE {
        (x * (1u64 << 52) as f64, -52)
    } else {
        (x, 0)
    };
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32 - 1022 + shift;
    (f64::from_bits((bits & !(0x7ff << 52)) | (1022 << 52)), exponent)
}

/// `x` times a power of two, rounded once.
fn scale(x: f64, exponent: i64) -> f64 {
    if x == 0.0 || x.is_infinite() || x.is_nan() {
        return x;
    }
    let (fraction, own) = split(x);
    let exponent = exponent.saturating_add(i64::from(own));
    if exponent > 1024 {
        return f64::INFINITY.copysign(x);
    }
    if exponent < -1080 {
        return 0.0_f64.copysign(x);
    }
    // Two steps, so that neither factor leaves the range; only the second one can round.
    let exponent = exponent as i32;
    let first = exponent.clamp(-1000, 1000);
    fraction * power_of_two(first) * power_of_two(exponent - first)
}

fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_digits_are_gos() {
        assert_eq!(log(1000.0) / log(10.0), 2.9999999999999996);
        assert_eq!(log(2.0) / log(10.0), 0.30102999566398114);
        assert_eq!(log(0.0), f64::NEG_INFINITY);
        assert!(log(-1.0).is_nan());
        assert_eq!(pow(10.0, 25.0), 1e25);
        assert_eq!(pow(7.0, 77.0), 1.1818138658059589e65);
        assert_eq!(pow(2.0, 1023.0), f64::MAX / 2.0 + 2f64.powi(969));
        assert_eq!(pow(10.0, 309.0), f64::INFINITY);
        assert_eq!(pow(0.0, -1.0), f64::INFINITY);
        assert_eq!(pow(2.0, -1074.0), f64::from_bits(1));
        assert_eq!(pow(-2.0, 3.0), -8.0);
        assert_eq!(pow(6.72, 1.56), 19.529722210890206);
        assert_eq!(pow(13.84, 1.14), 19.993790757308226);
    }
}
