//! Durations as Go writes them: `1h30m`, `-1.5s`, `100ms`.

/// Nanoseconds; `None` if it is no duration.
pub(super) fn parse(text: &str) -> Option<i64> {
    let (negative, mut rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole_digits = digits(rest);
        let (whole, after) = rest.split_at(whole_digits);
        let (fraction, after) = match after.strip_prefix('.') {
            Some(after) => after.split_at(digits(after)),
            None => ("", after),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let end = after
            .find(|c: char| c == '.' || c.is_ascii_digit())
            .unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let unit = nanoseconds(unit)?;
        let whole: u64 = if whole.is_empty() {
            0
        } else {
            whole.parse().ok().filter(|whole| *whole <= 1 << 63)?
        };
        let mut value = whole.checked_mul(unit).filter(|value| *value <= 1 << 63)?;
        value += fraction_of(fraction, unit);
        total = total.checked_add(value).filter(|total| *total <= 1 << 63)?;
        rest = after;
    }
    if negative {
        // The least duration has no positive counterpart.
        return Some((total as i64).wrapping_neg());
    }
    i64::try_from(total).ok()
}

/// The fraction in nanoseconds, rounded towards zero; digits that no longer fit are dropped.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let (mut value, mut scale) = (0_u64, 1.0_f64);
    for digit in digits.bytes() {
        let Some(next) = value
            .checked_mul(10)
            .and_then(|next| next.checked_add(u64::from(digit - b'0')))
        else {
            break;
        };
        if next > i64::MAX as u64 {
            break;
        }
        value = next;
        scale *= 10.0;
    }
    (value as f64 * (unit as f64 / scale)) as u64
}

fn nanoseconds(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_as_go_does() {
        let check = |text: &str, want: Option<i64>| assert_eq!(parse(text), want, "{text:?}");
        check("0", Some(0));
        check("1h30m", Some(5_400_000_000_000));
        check("-1.5s", Some(-1_500_000_000));
        check("+.5ms", Some(500_000));
        check("1.s", Some(1_000_000_000));
        check("9223372036854775807ns", Some(i64::MAX));
        check("-9223372036854775808ns", Some(i64::MIN));
        for wrong in [
            "",
            "-",
            "1",
            "1x",
            ".s",
            "1h ",
            "9223372036854775808ns",
            "2562048h",
            "1d",
        ] {
            check(wrong, None);
        }
    }
}
