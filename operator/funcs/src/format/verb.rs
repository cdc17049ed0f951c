//! One verb: read, and applied to a value.

use ashlar_value::{Number, Type, Value, convert, json};
use unicode_segmentation::UnicodeSegmentation;

use super::digits::{fixed, general, repeat, scientific};

/// Greatest width and precision, as in Go's `fmt`.
const WIDEST: usize = 1_000_000;

/// A verb with its options.
#[derive(Default)]
pub(super) struct Verb {
    zero: bool,
    sharp: bool,
    plus: bool,
    minus: bool,
    space: bool,
    width: Option<usize>,
    precision: Option<usize>,
    letter: char,
}

/// The verb after a percent sign, the index it gives, and what follows.
pub(super) fn parse(text: &str) -> Option<(Verb, Option<usize>, &str)> {
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
    /// Writes a value as the verb has it; or says why it cannot.
    pub(super) fn write(&self, out: &mut String, value: &Value) -> Result<(), String> {
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

fn as_json(value: &Value) -> Result<String, String> {
    let bytes = json::encode(value, &value.ty()).map_err(|error| error.message)?;
    String::from_utf8(bytes).map_err(|_| "the value has no JSON form".to_owned())
}
