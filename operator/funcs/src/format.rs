//! `format` and `formatlist`: printf-like verbs over values.
//!
//! The grammar is cty's: flags, width, precision, argument index, verb. Numbers come out as Go's `fmt` writes big integers
//! and floats. Nothing here converts values but as a verb asks for it.

use ashlar_value::{Digits, Number, Refinement, Type, Value, convert, json, ops};
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    Args, Builtin, Code, Fault, FuncError, Rule, Ty,
    protocol::{CELL, PURE, Param, any, is_dynamic, text},
};

/// Greatest width and precision, as in Go's `fmt`.
const WIDEST: usize = 1_000_000;

const ARGS: Param = any("args").null().unknown().dynamic();

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "format",
        doc: "Puts values into a format string with verbs such as %s, %d and %v.",
        params: &[text("format")],
        variadic: Some(ARGS),
        result: Rule::Is(Ty::String),
        examples: &[
            r#"format("Hello, %s! %d", "Ann", 5) == "Hello, Ann! 5""#,
            r#"format("%08.3f|%-4s|%#x", -3.14159, "ab", 255) == "-003.142|ab  |0xff""#,
            r#"format("%v %[1]v", [1, "a"]) == "[1,\"a\"] [1,\"a\"]""#,
        ],
        code: Code::Run(format),
        ..PURE
    },
    Builtin {
        name: "formatlist",
        doc: "A list of strings made by the same format of each element of one or more lists.",
        params: &[text("format")],
        variadic: Some(ARGS),
        result: Rule::Is(Ty::List(&Ty::String)),
        examples: &[r#"formatlist("%s=%s", "k", ["a", "b"]) == tolist(["k=a", "k=b"])"#],
        code: Code::Run(format_list),
        ..PURE
    },
];

fn format(args: &Args<'_>) -> Result<Value, FuncError> {
    let (format, values) = (args.text(0)?, args.rest(1));
    if values.iter().all(Value::is_wholly_known) {
        return Ok(Value::string(render(args, format, values)?));
    }
    let prefix = match format.find('%') {
        Some(at) if at > 0 => Some(ops::safe_prefix(&format[..at]).into()),
        _ => None,
    };
    Ok(ops::unknown_refined(
        Type::String,
        Refinement {
            prefix,
            ..Refinement::not_null()
        },
    ))
}

/// What an argument of `formatlist` gives to each round.
enum Source<'a> {
    Each(std::slice::Iter<'a, Value>),
    Same(&'a Value),
}

fn format_list(args: &Args<'_>) -> Result<Value, FuncError> {
    let (format, values) = (args.text(0)?, args.rest(1));
    if values.is_empty() {
        return Ok(Value::list(
            Type::String,
            vec![Value::string(render(args, format, values)?)],
        ));
    }
    let mut sources = Vec::with_capacity(values.len());
    let mut rounds: Option<(usize, usize)> = None;
    let mut unknown = false;
    for (index, value) in values.iter().enumerate() {
        let length = match value.ty() {
            Type::Tuple(types) if !value.is_null() => Some(types.len()),
            Type::List(_) | Type::Set(_) if !value.is_null() => {
                let length = ops::length(value).as_number().and_then(Number::to_i64);
                let Some(length) = length.filter(|_| value.is_known()) else {
                    unknown = true;
                    continue;
                };
                Some(length as usize)
            }
            _ => None,
        };
        if let Some(length) = length {
            let (expected, chooser) = *rounds.get_or_insert((length, index));
            if length != expected {
                let message = format!(
                    "its length is {length}, but that of value {} is {expected}; all lists must be of one length",
                    chooser + 1
                );
                return Err(FuncError::argument(index + 1, message));
            }
        }
        unknown |= !value.is_known() && (length.is_some() || is_dynamic(value));
        sources.push(match value.as_items().filter(|_| length.is_some()) {
            Some(items) => Source::Each(items.iter()),
            None => Source::Same(value),
        });
    }
    if unknown {
        return Ok(Value::unknown(Type::list(Type::String)));
    }
    let rounds = rounds.map_or(1, |(length, _)| length);
    let mut results = Vec::with_capacity(rounds);
    let nothing = Value::null(Type::Dynamic);
    for round in 0..rounds {
        let mut row = Vec::with_capacity(sources.len());
        let mut known = true;
        for source in &mut sources {
            let value = match source {
                Source::Each(items) => items.next().unwrap_or(&nothing).clone(),
                Source::Same(value) => Value::clone(value),
            };
            known = value.is_wholly_known();
            row.push(value);
            // Terraform looks no further then, so the lists behind an unknown element fall one element back.
            if !known {
                break;
            }
        }
        results.push(if known {
            args.reserve(CELL)?;
            let text = render(args, format, &row).map_err(|error| match error.fault {
                Fault::Memory => error,
                _ => FuncError::call(format!("in round {round}: {}", error.message)),
            })?;
            Value::string(text)
        } else {
            ops::refine_not_null(Value::unknown(Type::String))
        });
    }
    Ok(Value::list(Type::String, results))
}

/// A verb with its options.
#[derive(Default)]
struct Verb {
    zero: bool,
    sharp: bool,
    plus: bool,
    minus: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
    letter: char,
}

fn render(args: &Args<'_>, format: &str, values: &[Value]) -> Result<String, FuncError> {
    args.reserve(format.len())?;
    let mut out = String::with_capacity(format.len());
    let mut rest = format;
    let (mut next, mut highest) = (1, 0);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let position = format.len() - rest.len() - 1;
        let (verb, index, after) = parse(rest).ok_or_else(|| {
            FuncError::call(format!("the verb at byte {position} of the format is not valid"))
        })?;
        let index = index.unwrap_or(next);
        rest = after;
        highest = highest.max(index);
        next = index.saturating_add(1);
        let Some(value) = index.checked_sub(1).and_then(|index| values.get(index)) else {
            let message = format!(
                "the verb at byte {position} of the format needs value {index} of {}",
                values.len()
            );
            return Err(FuncError::call(message));
        };
        let before = out.len();
        verb.write(&mut out, value).map_err(|why| {
            FuncError::call(format!(
                "the verb at byte {position} of the format cannot be used: {why}"
            ))
        })?;
        args.reserve(out.len() - before)?;
    }
    out.push_str(rest);
    if highest < values.len() {
        let used = if highest == 0 {
            "the format has no verb".into()
        } else {
            format!("the format uses only {highest}")
        };
        return Err(FuncError::argument(
            highest + 1,
            format!("there are too many values: {used}"),
        ));
    }
    Ok(out)
}

/// The verb after a percent sign, the index it gives, and what follows.
fn parse(text: &str) -> Option<(Verb, Option<usize>, &str)> {
    let mut verb = Verb::default();
    let mut rest = text;
    loop {
        match rest.as_bytes().first()? {
            b'0' => verb.zero = true,
            b'#' => verb.sharp = true,
            b'-' => verb.minus = true,
            b'+' => verb.plus = true,
            b' ' => verb.space = true,
            _ => break,
        }
        rest = &rest[1..];
    }
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let count = digits(rest);
    if count > 0 {
        verb.width = Some(rest[..count].parse().unwrap_or(usize::MAX));
        rest = &rest[count..];
    }
    if let Some(after) = rest.strip_prefix('.') {
        let count = digits(after);
        verb.precision = Some(if count == 0 {
            0
        } else {
            after[..count].parse().unwrap_or(usize::MAX)
        });
        rest = &after[count..];
    }
    let mut index = None;
    if let Some(after) = rest.strip_prefix('[') {
        let count = digits(after);
        if count == 0 || after.starts_with('0') {
            return None;
        }
        index = Some(after[..count].parse().unwrap_or(usize::MAX));
        rest = after[count..].strip_prefix(']')?;
    }
    verb.letter = rest.chars().next().filter(char::is_ascii_alphabetic)?;
    Some((verb, index, &rest[1..]))
}

impl Verb {
    fn write(&self, out: &mut String, value: &Value) -> Result<(), String> {
        if self.width.unwrap_or(0).max(self.precision.unwrap_or(0)) > WIDEST {
            return Err(format!("a width or precision above {WIDEST} is not supported"));
        }
        if self.letter != 'v' && value.is_null() {
            return Err("the value is null".to_owned());
        }
        let number = || convert(value, &Type::Number).map_err(|error| error.message);
        match self.letter {
            'v' => self.as_is(out, value)?,
            't' => {
                let value = convert(value, &Type::Bool).map_err(|error| error.message)?;
                out.push_str(if value.as_bool() == Some(true) {
                    "true"
                } else {
                    "false"
                });
            }
            's' | 'q' => self.string(out, value)?,
            'b' | 'd' | 'o' | 'x' | 'X' => self.integer(out, number()?.as_number())?,
            'e' | 'E' | 'f' | 'g' | 'G' => self.float(out, number()?.as_number())?,
            _ => return Err("there is no such verb".to_owned()),
        }
        Ok(())
    }

    fn as_is(&self, out: &mut String, value: &Value) -> Result<(), String> {
        match (value.as_str(), value.as_number()) {
            (Some(text), _) if !self.sharp => self.pad(out, text),
            (_, Some(number)) if !self.sharp => self.pad(out, &general(number, None, 'g')),
            _ => self.pad(out, &as_json(value)?),
        }
        Ok(())
    }

    fn string(&self, out: &mut String, value: &Value) -> Result<(), String> {
        let value = convert(value, &Type::String).map_err(|error| error.message)?;
        let mut text: &str = value.as_str().map(|text| &**text).unwrap_or_default();
        if let Some(most) = self.precision.filter(|most| *most > 0) {
            let end = text
                .grapheme_indices(true)
                .nth(most)
                .map_or(text.len(), |(at, _)| at);
            text = &text[..end];
        }
        if self.letter == 'q' {
            self.pad(out, &as_json(&Value::string(text))?);
        } else {
            self.pad(out, text);
        }
        Ok(())
    }

    /// Padding as cty does it: by grapheme clusters, zeros too, on either side.
    fn pad(&self, out: &mut String, text: &str) {
        let missing = self
            .width
            .unwrap_or(0)
            .saturating_sub(text.graphemes(true).count());
        let padding = if self.zero { "0" } else { " " }.repeat(missing);
        if self.minus {
            out.push_str(text);
            out.push_str(&padding);
        } else {
            out.push_str(&padding);
            out.push_str(text);
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        if negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        }
    }

    fn integer(&self, out: &mut String, number: Option<&Number>) -> Result<(), String> {
        let whole = number
            .filter(|number| number.is_integer())
            .and_then(Number::to_big)
            .ok_or("a whole number is required")?;
        let negative = number.is_some_and(|number| number.sign() < 0);
        let radix = match self.letter {
            'b' => 2,
            'o' => 8,
            'd' => 10,
            _ => 16,
        };
        let digits = whole.in_radix(radix).to_string();
        let mut digits = digits.trim_start_matches('-').to_owned();
        if self.letter == 'X' {
            digits.make_ascii_uppercase();
        }
        let prefix = match self.letter {
            'b' if self.sharp => "0b",
            'o' if self.sharp => "0",
            'x' if self.sharp => "0x",
            'X' if self.sharp => "0X",
            _ => "",
        };
        let mut zeros = 0;
        if let Some(precision) = self.precision {
            if precision == 0 && digits == "0" {
                return Ok(());
            }
            zeros = precision.saturating_sub(digits.len());
        }
        let sign = self.sign(negative);
        let length = sign.len() + prefix.len() + zeros + digits.len();
        let padding = self.width.unwrap_or(0).saturating_sub(length);
        let (mut left, mut right) = (0, 0);
        if self.minus {
            right = padding;
        } else if self.zero && self.precision.is_none() {
            zeros = padding;
        } else {
            left = padding;
        }
        repeat(out, ' ', left);
        out.push_str(sign);
        out.push_str(prefix);
        repeat(out, '0', zeros);
        out.push_str(&digits);
        repeat(out, ' ', right);
        Ok(())
    }

    fn float(&self, out: &mut String, number: Option<&Number>) -> Result<(), String> {
        let number = number.ok_or("a number is required")?;
        let negative = number.sign() < 0 || number.is_negative_zero();
        let magnitude = number.abs();
        let text = match self.letter {
            _ if number.is_infinite() => "Inf".to_owned(),
            'f' => fixed(&magnitude, self.precision.unwrap_or(6)),
            'g' => general(&magnitude, self.precision, 'g'),
            'G' => general(&magnitude, self.precision, 'G'),
            letter => scientific(&magnitude, self.precision.unwrap_or(6), letter),
        };
        // Infinity always has its sign, as in Go.
        let sign = match self.sign(negative) {
            "" if number.is_infinite() => "+",
            sign => sign,
        };
        let padding = self.width.unwrap_or(0).saturating_sub(sign.len() + text.len());
        // Unlike with integers, zeros win over padding on the right.
        let (mut left, mut zeros, mut right) = (0, 0, 0);
        if self.zero && !number.is_infinite() {
            zeros = padding;
        } else if self.minus {
            right = padding;
        } else {
            left = padding;
        }
        repeat(out, ' ', left);
        out.push_str(sign);
        repeat(out, '0', zeros);
        out.push_str(&text);
        repeat(out, ' ', right);
        Ok(())
    }
}

/// Appends a character so many times. (A width in a format string of Rust could not be more than 65,535.)
fn repeat(out: &mut String, character: char, count: usize) {
    out.extend(std::iter::repeat_n(character, count));
}

fn as_json(value: &Value) -> Result<String, String> {
    let bytes = json::encode(value, &value.ty()).map_err(|error| error.message)?;
    String::from_utf8(bytes).map_err(|_| "the value has no JSON form".to_owned())
}

/// So many digits after the point.
fn fixed(number: &Number, places: usize) -> String {
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
fn scientific(number: &Number, places: usize, letter: char) -> String {
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
fn general(number: &Number, precision: Option<usize>, letter: char) -> String {
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
