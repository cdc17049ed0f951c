//! Literals: the text of tokens with escapes resolved, and whether a number is one.
//!
//! Numbers stay text; only what hcl would refuse is found here. Text that becomes a value is put into NFC, once, when
//! the pieces of a template are joined.

use std::{borrow::Cow, sync::Arc};

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::{
    ast::Literal,
    parser::Parser,
    token::{Kind, Token},
};

/// The value of a piece of template text.
pub(crate) fn string(text: &str) -> Literal {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return Literal::String(text.into());
    }
    Literal::String(text.nfc().collect::<String>().into())
}

/// The text that a [`Kind::QuotedText`] or [`Kind::PlainText`] token stands for.
pub(crate) fn text<'t>(parser: &mut Parser<'t>, token: Token) -> Cow<'t, str> {
    let raw = parser.token_text(token);
    if token.kind != Kind::QuotedText {
        return undoubled(raw);
    }
    // In quotes such a token is at most the escaped opening.
    let doubled = raw.starts_with("$${") || raw.starts_with("%%{");
    let mut rest = raw.get(usize::from(doubled)..).unwrap_or(raw);
    if !rest.contains('\\') {
        return Cow::Borrowed(rest);
    }
    let mut out = String::with_capacity(rest.len());
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let length = escape_length(escape);
        let (escape, after) = escape.split_at(length.min(escape.len()));
        let start = token.end as usize - after.len() - escape.len();
        resolve(parser, escape, start, &mut out);
        rest = after;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Text outside quotes: `$${` and `%%{` stand for `${` and `%{`. Signs are taken in pairs from the left.
fn undoubled(raw: &str) -> Cow<'_, str> {
    if !raw.contains("$${") && !raw.contains("%%{") {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = rest.find(['$', '%']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let mut chars = from.chars();
        let (first, second, third) = (chars.next(), chars.next(), chars.next());
        let length = if first == second { 2 } else { 1 };
        let kept = if length == 2 && third == Some('{') {
            1
        } else {
            length
        };
        out.push_str(from.get(..kept).unwrap_or(""));
        rest = from.get(length..).unwrap_or("");
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The length of the escape that the text begins with, as far as its characters fit.
fn escape_length(text: &str) -> usize {
    let mut chars = text.chars().skip(1);
    let (selector, most) = match chars.next() {
        Some('u') => (1, 4),
        Some('U') => (1, 8),
        Some(other) => return 1 + other.len_utf8(),
        None => return 1,
    };
    1 + selector + chars.take(most).take_while(char::is_ascii_hexdigit).count()
}

fn resolve(parser: &mut Parser<'_>, escape: &str, start: usize, out: &mut String) {
    let selector = escape.get(1..).unwrap_or("");
    let simple = match selector {
        "n" => Some('\n'),
        "r" => Some('\r'),
        "t" => Some('\t'),
        "\"" => Some('"'),
        "\\" => Some('\\'),
        _ => None,
    };
    if let Some(c) = simple {
        out.push(c);
        return;
    }
    let detail = match selector.as_bytes().first() {
        Some(b'u') if selector.len() != 5 => "\\u takes exactly four hexadecimal digits.".to_owned(),
        Some(b'U') if selector.len() != 9 => "\\U takes exactly eight hexadecimal digits.".to_owned(),
        Some(b'u' | b'U') => {
            let digits = selector.get(1..).unwrap_or("");
            match u32::from_str_radix(digits, 16).ok().and_then(char::from_u32) {
                Some(c) => {
                    out.push(c);
                    return;
                }
                None => format!("There is no character U+{digits}."),
            }
        }
        _ => format!("After a backslash stands one of n, r, t, \\, \", u and U, not {selector:?}."),
    };
    parser.error(
        parser.place(start, start + escape.len()),
        None,
        "Invalid escape sequence",
        detail,
    );
    out.push_str(if matches!(selector.as_bytes().first(), Some(b'u' | b'U')) {
        escape
    } else {
        selector
    });
}

/// The value of a [`Kind::Number`] token; `None`, and told, if hcl could make no number of it.
pub(crate) fn number(parser: &mut Parser<'_>, token: Token) -> Option<Literal> {
    let text = parser.token_text(token);
    if is_number(text) {
        return Some(Literal::Number(Arc::from(text)));
    }
    let detail =
        "This is no number: it may have one decimal point and one exponent, and the exponent has a limit.";
    parser.error(parser.span(token), None, "Invalid number literal", detail);
    None
}

/// Does Go's `big.ParseFloat`, in base 10 at 512 bits, take the text? Its exponent is one of base 2 in 32 bits, put
/// together from the digits before the point and the exponent of base 10.
pub(crate) fn is_number(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => match exponent.parse::<i64>() {
            Ok(exponent) => (mantissa, exponent),
            Err(_) => return false,
        },
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if fraction.contains('.') {
        return false;
    }
    let digits = || {
        whole
            .bytes()
            .chain(fraction.bytes())
            .skip_while(|digit| *digit == b'0')
    };
    let count = digits().count();
    if count == 0 {
        return true;
    }
    let leading = digits()
        .take(17)
        .fold(0f64, |sum, digit| sum * 10.0 + f64::from(digit - b'0'));
    let more = i64::try_from(count.saturating_sub(17)).unwrap_or(i64::MAX);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        reason = "far from either limit"
    )]
    let bits = (leading.log2() + more as f64 * 10f64.log2()).floor() as i64 + 1;
    let point = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
    let binary = exponent.saturating_sub(point).saturating_add(bits);
    i32::try_from(binary).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_big_parse_float() {
        let good = [
            "0",
            "007",
            "1.5",
            "1.e3",
            "1e400",
            "1e-3",
            "0e9223372036854775807",
            "1e2147483646",
        ];
        let bad = [
            "1.5.2",
            "1e5e5",
            "1..5",
            "1e2147483647",
            "1e9223372036854775808",
            "1e-2147483650",
        ];
        assert!(good.iter().all(|text| is_number(text)));
        for text in bad {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn values_are_in_nfc() {
        assert_eq!(string("e\u{301}"), Literal::String("é".into()));
    }

    #[test]
    fn signs_are_taken_in_pairs() {
        for (raw, expected) in [
            ("a $${b} %%{c}", "a ${b} %{c}"),
            ("$$${", "$$${"),
            ("$$$${", "$$${"),
            ("é$${", "é${"),
        ] {
            assert_eq!(undoubled(raw), expected);
        }
    }
}
