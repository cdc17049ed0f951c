//! Numbers as text in the forms of Go's `fmt`.

use ashlar_value::{Digits, Number};

/// Appends a character so many times. (A width in a format string of Rust could not be more than 65,535.)
pub(super) fn repeat(out: &mut String, character: char, count: usize) {
    out.extend(std::iter::repeat_n(character, count));
}

/// So many digits after the point.
pub(super) fn fixed(number: &Number, places: usize) -> String {
    let (digits, point) = number.decimal(Digits::Places(places)).unwrap_or_default();
    plain(&digits, point, places)
}

/// Digits without exponent: the number is `0.digits · 10^point`.
fn plain(digits: &str, point: i64, places: usize) -> String {
    let whole = usize::try_from(point).unwrap_or(0);
    let (before, after) = digits.split_at(whole.min(digits.len()));
    let mut text = if whole == 0 {
        "0".to_owned()
    } else {
        before.to_owned()
    };
    repeat(&mut text, '0', whole.saturating_sub(before.len()));
    if places > 0 {
        let zeros = usize::try_from(-point.min(0)).unwrap_or(0).min(places);
        text.push('.');
        repeat(&mut text, '0', zeros);
        text.push_str(after);
        repeat(&mut text, '0', places.saturating_sub(zeros + after.len()));
    }
    text
}

/// One digit before the point, so many after it, and the exponent.
pub(super) fn scientific(number: &Number, places: usize, letter: char) -> String {
    let (digits, point) = number
        .decimal(Digits::Significant(places + 1))
        .unwrap_or_default();
    exponent_form(&digits, point, places, letter)
}

fn exponent_form(digits: &str, point: i64, places: usize, letter: char) -> String {
    let (first, others) = digits.split_at(digits.len().min(1));
    let first = if first.is_empty() { "0" } else { first };
    let dot = if places > 0 { "." } else { "" };
    let exponent = if digits.is_empty() { 0 } else { point - 1 };
    let sign = if exponent < 0 { '-' } else { '+' };
    let zeros = "0".repeat(places.saturating_sub(others.len()));
    format!(
        "{first}{dot}{others}{zeros}{letter}{sign}{:02}",
        exponent.unsigned_abs()
    )
}

/// Whichever form is shorter, as Go's `%g` decides; with no precision, the shortest digits that tell the number.
pub(super) fn general(number: &Number, precision: Option<usize>, letter: char) -> String {
    let negative = number.sign() < 0 || number.is_negative_zero();
    let wanted = precision.map_or(Digits::Shortest, |precision| {
        Digits::Significant(precision.max(1))
    });
    let Some((digits, point)) = number.decimal(wanted) else {
        return number.to_string();
    };
    let length = digits.len() as i64;
    let significant = precision.map(|precision| precision.max(1) as i64);
    let limit = match significant {
        // What Go decides by where the digits are the fewest possible.
        None => 6,
        Some(significant) if significant > length && length >= point => length,
        Some(significant) => significant,
    };
    let exponent = point - 1;
    let text = if !digits.is_empty() && (exponent < -4 || exponent >= limit) {
        exponent_form(
            &digits,
            point,
            digits.len().saturating_sub(1),
            if letter == 'G' { 'E' } else { 'e' },
        )
    } else {
        plain(&digits, point, usize::try_from(length - point).unwrap_or(0))
    };
    if negative { format!("-{text}") } else { text }
}
