//! What a YAML scalar stands for: YAML 1.1 booleans and nulls, numbers, timestamps as RFC 3339 text.

use ashlar_value::{Number, Type, Value};
use saphyr_parser::ScalarStyle;

use crate::{
    encoding::decode_base64,
    time::rfc3339::{Reader, Time, days_in},
};

/// A scalar, or the key that merges another mapping in.
pub(super) enum Scalar {
    Value(Value),
    Merge,
}

/// Resolves a scalar with a tag such as `!!str`, or without one; the error is a clause for people.
pub(super) fn resolve(tag: Option<&str>, text: &str, style: ScalarStyle) -> Result<Scalar, String> {
    let known = [
        "!!str",
        "!!bool",
        "!!int",
        "!!float",
        "!!null",
        "!!timestamp",
        "!!binary",
    ];
    if tag.is_some_and(|tag| !known.contains(&tag)) {
        return Err("a tag is not supported".to_owned());
    }
    let mut tag = tag;
    let quoted = matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted);
    let first = text.bytes().next();
    // Only texts that begin like this are anything but strings.
    let special = first.is_none_or(|first| first.is_ascii_digit() || b"+-.yYnNtTfFoO~".contains(&first));
    if special && !matches!(tag, Some("!!str" | "!!binary")) {
        if quoted {
            return Ok(Scalar::Value(Value::string(text)));
        }
        if let Some(value) = named(text) {
            return Ok(Scalar::Value(value));
        }
        if tag.is_none() && [".nan", ".NaN", ".NAN"].contains(&text) {
            return Err("a number that is not a number is not supported".to_owned());
        }
        match first {
            Some(b'.') => {
                if let Some(number) = Number::parse(text) {
                    return Ok(Scalar::Value(Value::number(number)));
                }
            }
            Some(b'0'..=b'9' | b'+' | b'-') => {
                if matches!(tag, None | Some("!!timestamp"))
                    && let Some(time) = timestamp(text)
                {
                    return Ok(Scalar::Value(Value::string(time.to_string())));
                }
                if is_integer(text) {
                    tag = Some("!!int");
                } else if is_float(text) {
                    tag = Some("!!float");
                }
            }
            _ => {}
        }
    }
    if tag.is_none() && text == "<<" {
        return Ok(Scalar::Merge);
    }
    let wrong = |what: &str| format!("a scalar tagged {what} is none");
    Ok(Scalar::Value(match tag {
        None | Some("!!str") => Value::string(text),
        Some("!!binary") => {
            decode_base64(text).map_err(|_| "a binary scalar is not valid base64".to_owned())?;
            Value::string(text)
        }
        Some("!!null") => Value::null(Type::Dynamic),
        Some("!!bool") => named(text)
            .filter(|value| value.as_bool().is_some())
            .ok_or_else(|| wrong("!!bool"))?,
        Some("!!timestamp") => {
            Value::string(timestamp(text).ok_or_else(|| wrong("!!timestamp"))?.to_string())
        }
        Some(tag) => Value::number(number(text).ok_or_else(|| wrong(tag))?),
    }))
}

/// Words that are no strings.
fn named(text: &str) -> Option<Value> {
    Some(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::bool(false)
        }
        "" | "~" | "null" | "Null" | "NULL" => Value::null(Type::Dynamic),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Value::number(Number::infinity(false)),
        "-.inf" | "-.Inf" | "-.INF" => Value::number(Number::infinity(true)),
        _ => return None,
    })
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['+', '-']).unwrap_or(text)
}

/// Decimal with a sign, `0o17` or `0x1F` without one.
fn is_integer(text: &str) -> bool {
    let all = |text: &str, is: fn(u8) -> bool| !text.is_empty() && text.bytes().all(is);
    all(unsigned(text), |byte| byte.is_ascii_digit())
        || text
            .strip_prefix("0o")
            .is_some_and(|rest| all(rest, |byte| (b'0'..=b'7').contains(&byte)))
        || text
            .strip_prefix("0x")
            .is_some_and(|rest| all(rest, |byte| byte.is_ascii_hexdigit()))
}

/// `1.`, `.5`, `1.5e-3` and the like, with a sign.
fn is_float(text: &str) -> bool {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let text = unsigned(text);
    let whole = digits(text);
    let mut rest = &text[whole..];
    let mut fraction = 0;
    if let Some(after) = rest.strip_prefix('.') {
        fraction = digits(after);
        rest = &after[fraction..];
    }
    if whole == 0 && fraction == 0 {
        return false;
    }
    match rest.strip_prefix(['e', 'E']) {
        Some(exponent) => {
            let exponent = unsigned(exponent);
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        None => rest.is_empty(),
    }
}

/// Decimal, else with a prefix such as `0x`; underscores count for nothing.
fn number(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    if let Some(number) = Number::parse(&plain) {
        return Some(number);
    }
    let digits = unsigned(&plain);
    let (prefix, digits) = digits.split_at_checked(2)?;
    let radix = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let magnitude = i128::from(u64::from_str_radix(digits, radix).ok()?);
    let value = if plain.starts_with('-') {
        -magnitude
    } else {
        magnitude
    };
    match (i64::try_from(value), u64::try_from(value)) {
        (Ok(small), _) => Some(Number::from(small)),
        (_, Ok(large)) => Some(Number::from(large)),
        _ => None,
    }
}

/// `2001-1-2`, `2001-1-2 3:4:5` and `2001-1-2T3:4:5Z`, fractions and offsets included.
fn timestamp(text: &str) -> Option<Time> {
    let mut reader = Reader {
        rest: text.as_bytes(),
    };
    let year = reader.number(4, 4)?;
    reader.byte(b'-')?;
    let month = reader.number(1, 2).filter(|month| (1..=12).contains(month))?;
    reader.byte(b'-')?;
    let day = reader
        .number(1, 2)
        .filter(|day| (1..=days_in(year, month)).contains(day))?;
    let Some((separator, rest)) = reader.rest.split_first() else {
        return Some(Time::of([year, month, day, 0, 0, 0], 0, 0));
    };
    reader.rest = rest;
    let hour = reader.number(1, 2).filter(|hour| *hour <= 23)?;
    reader.byte(b':')?;
    let minute = reader.number(1, 2).filter(|minute| *minute <= 59)?;
    reader.byte(b':')?;
    let second = reader.number(1, 2).filter(|second| *second <= 59)?;
    let nanoseconds = reader.fraction(true)?;
    let offset = match separator {
        b'T' | b't' => reader.offset(24, 60)?,
        b' ' => 0,
        _ => return None,
    };
    reader
        .rest
        .is_empty()
        .then(|| Time::of([year, month, day, hour, minute, second], nanoseconds, offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars() {
        let check = |text: &str, want: Value| match resolve(None, text, ScalarStyle::Plain) {
            Ok(Scalar::Value(value)) => assert_eq!(value, want, "{text}"),
            _ => panic!("{text}"),
        };
        let text = |text: &str| Value::string(text);
        let number = |text: &str| Value::number(Number::parse(text).unwrap());
        check("yes", Value::bool(true));
        check("Off", Value::bool(false));
        check("~", Value::null(Type::Dynamic));
        check("", Value::null(Type::Dynamic));
        check("007", number("7"));
        check("1_000", text("1_000"));
        check("0o17", Value::number(Number::from(15)));
        check("0x1F", Value::number(Number::from(31)));
        check("0b11", text("0b11"));
        check("-1.5e3", number("-1500"));
        check("1.", number("1"));
        check("1e", text("1e"));
        check("12:30:45", text("12:30:45"));
        check("2024-1-2", text("2024-01-02T00:00:00Z"));
        check("2024-01-02 3:04:05.9", text("2024-01-02T03:04:05Z"));
        check("2024-01-02t03:04:05+01:00", text("2024-01-02T03:04:05+01:00"));
        check("2024-13-02", text("2024-13-02"));
    }
}
