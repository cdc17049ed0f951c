//! Texts that carry other data: base64, URLs, JSON, CSV, and strings in other character encodings.
//!
//! YAML has its own file, [`crate::yaml`].

mod charset;
mod csv;

use std::{io::Read, sync::Arc};

use ashlar_value::{Dialect, Refinement, Type, Value, json, ops};
use base64::{
    Engine, alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    digest::base64,
    gzip,
    protocol::{CELL, PURE, any, text},
};

use self::charset::Charset;

/// As Go reads base64: padding required, odd trailing bits overlooked.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "base64decode",
        doc: "The UTF-8 text that a string encodes in base64.",
        params: &[text("str").unknown().marked()],
        examples: &[r#"base64decode("SGVsbG8gV29ybGQ=") == "Hello World""#],
        code: Code::Run(base64_decode),
        ..TEXT
    },
    Builtin {
        name: "base64encode",
        doc: "The bytes of a string in base64.",
        params: &[text("str")],
        examples: &[r#"base64encode("Hello World") == "SGVsbG8gV29ybGQ=""#],
        code: Code::Run(|args| Ok(Value::string(base64(args.text(0)?.as_bytes())))),
        ..TEXT
    },
    Builtin {
        name: "base64gunzip",
        doc: "The UTF-8 text that a base64 string holds compressed with gzip.",
        only: Some(Dialect::OpenTofu),
        params: &[text("str").unknown().marked()],
        examples: &[
            r#"base64gunzip(base64gzip("test")) == "test""#,
            r#"!can(base64gunzip(base64encode("test")))"#,
        ],
        code: Code::Run(base64_gunzip),
        ..TEXT
    },
    Builtin {
        name: "base64gzip",
        doc: "A string compressed with gzip, in base64.",
        params: &[text("str")],
        examples: &[r#"base64gzip("a") == "H4sIAAAAAAAA/0oEAAAA//8BAAD//0O+t+gBAAAA""#],
        code: Code::Run(|args| Ok(Value::string(base64(&gzip::compress(args.text(0)?.as_bytes()))))),
        ..TEXT
    },
    Builtin {
        name: "csvdecode",
        doc: "A list of objects, one for each line of a CSV text after the first, which names the attributes.",
        params: &[text("str")],
        result: Rule::By(|_| Ok(Type::Dynamic)),
        examples: &[r#"csvdecode("a,b\n1,2\n3,4\n")[1].b == "4""#],
        code: Code::Run(csv_decode),
        ..PURE
    },
    Builtin {
        name: "jsondecode",
        doc: "The value that a JSON text stands for.",
        params: &[text("str")],
        result: Rule::By(json_type),
        not_null: false,
        examples: &[r#"jsondecode("{\"hello\": [1, null]}") == { hello = [1, null] }"#],
        code: Code::Run(json_decode),
        ..PURE
    },
    Builtin {
        name: "jsonencode",
        doc: "A value as JSON text.",
        params: &[any("val").unknown().dynamic().null()],
        examples: &[r#"jsonencode({ b = "<", a = [1, null] }) == "{\"a\":[1,null],\"b\":\"\\u003c\"}""#],
        code: Code::Run(json_encode),
        ..TEXT
    },
    Builtin {
        name: "textdecodebase64",
        doc: "The text that a base64 string holds in a character encoding.",
        params: &[text("source"), text("encoding")],
        examples: &[r#"textdecodebase64("SABpAA==", "UTF-16LE") == "Hi""#],
        code: Code::Run(text_decode),
        ..TEXT
    },
    Builtin {
        name: "textencodebase64",
        doc: "A text in a character encoding, in base64.",
        params: &[text("string"), text("encoding")],
        examples: &[r#"textencodebase64("Hi", "UTF-16LE") == "SABpAA==""#],
        code: Code::Run(text_encode),
        ..TEXT
    },
    Builtin {
        name: "urldecode",
        doc: "The string that stands in a URL's query as this text.",
        only: Some(Dialect::OpenTofu),
        params: &[text("str")],
        examples: &[
            r#"urldecode("a+b%2F%C3%BC~") == "a b/ü~""#,
            r#"!can(urldecode("100%"))"#,
        ],
        code: Code::Run(url_decode),
        ..TEXT
    },
    Builtin {
        name: "urlencode",
        doc: "A string as it stands in a URL's query.",
        params: &[text("str")],
        examples: &[r#"urlencode("a b/ü~") == "a+b%2F%C3%BC~""#],
        code: Code::Run(|args| Ok(Value::string(url_encode(args.text(0)?)))),
        ..TEXT
    },
];

const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

/// The bytes of a base64 text; line breaks in it are overlooked.
pub(crate) fn decode_base64(text: &str) -> Result<Vec<u8>, base64::DecodeError> {
    if text.contains(['\r', '\n']) {
        return LENIENT.decode(text.replace(['\r', '\n'], ""));
    }
    LENIENT.decode(text)
}

fn base64_decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let given = args.get(0);
    if !given.is_known() {
        return Ok(Value::unknown(Type::String).with_marks(given.marks()));
    }
    let text = args.text(0)?;
    let bytes = decode_base64(text)
        .map_err(|_| FuncError::call(format!("{} is not valid base64", args.quote(0, text))))?;
    let decoded =
        String::from_utf8(bytes).map_err(|_| FuncError::call("the decoded bytes are not valid UTF-8"))?;
    Ok(Value::string(decoded).with_marks(given.marks()))
}

fn base64_gunzip(args: &Args<'_>) -> Result<Value, FuncError> {
    let given = args.get(0);
    if !given.is_known() {
        return Ok(Value::unknown(Type::String).with_marks(given.marks()));
    }
    let text = args.text(0)?;
    let bytes = decode_base64(text)
        .map_err(|_| FuncError::call(format!("{} is not valid base64", args.quote(0, text))))?;
    let mut reader = flate2::read::MultiGzDecoder::new(bytes.as_slice());
    let mut unpacked = Vec::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        let read = reader
            .read(&mut chunk)
            .map_err(|_| FuncError::call("the decoded bytes are not gzip data, or not whole"))?;
        if read == 0 {
            break;
        }
        args.reserve(read)?;
        unpacked.extend_from_slice(&chunk[..read]);
    }
    let unpacked =
        String::from_utf8(unpacked).map_err(|_| FuncError::call("the unpacked bytes are not valid UTF-8"))?;
    Ok(Value::string(unpacked).with_marks(given.marks()))
}

fn csv_decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let wrong = |error: csv::Wrong| FuncError::call(error.to_string());
    let mut records = csv::Records::new(args.text(0)?);
    let names = records.next().transpose().map_err(wrong)?;
    let names = names.ok_or_else(|| FuncError::call("the header line is missing"))?;
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = names.iter().find(|name| !seen.insert(name.as_str())) {
        return Err(FuncError::call(format!(
            "the column {} appears twice",
            args.quote(0, twice)
        )));
    }
    // The rows share the names of their attributes.
    let shared: Vec<Arc<str>> = names
        .iter()
        .map(|name| Value::string(name).as_str().cloned().unwrap_or_default())
        .collect();
    let mut rows = Vec::new();
    for record in records {
        let fields = record.map_err(wrong)?;
        if fields.len() != names.len() {
            let message = format!(
                "record {} has {} fields, not {}",
                rows.len() + 1,
                fields.len(),
                names.len()
            );
            return Err(FuncError::call(message));
        }
        args.reserve(CELL + fields.iter().map(|field| CELL + field.len()).sum::<usize>())?;
        let fields = fields.iter().map(Value::string);
        rows.push(Value::object_of(shared.iter().cloned().zip(fields).collect()));
    }
    let element = Type::object(names.iter().map(|name| (name.as_str(), Type::String)));
    Ok(Value::list(element, rows))
}

fn json_decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let text = args.text(0)?;
    // Each value begins after one of these or at the start.
    let begins = text.bytes().filter(|byte| b",:[{".contains(byte)).count() + 1;
    args.reserve(text.len().saturating_add(begins.saturating_mul(CELL)))?;
    json::decode_implied(text.as_bytes()).map_err(|error| FuncError::call(error.message))
}

/// What the known beginning of a JSON text says of the type to come.
fn json_type(args: &Args<'_>) -> Result<Type, FuncError> {
    let facts = ops::range(args.get(0));
    let first = facts.prefix.as_deref().unwrap_or_default().trim().chars().next();
    match first {
        None | Some('{' | '[' | 'n') => Ok(Type::Dynamic),
        Some('"') => Ok(Type::String),
        Some('t' | 'f') => Ok(Type::Bool),
        Some('-' | '.' | '0'..='9') => Ok(Type::Number),
        Some(other) => Err(FuncError::argument(
            0,
            format!("a JSON text cannot begin with {other:?}"),
        )),
    }
}

fn json_encode(args: &Args<'_>) -> Result<Value, FuncError> {
    let value = args.get(0);
    if value.is_wholly_known() {
        let bytes = json::encode(value, &value.ty()).map_err(|error| FuncError::call(error.message))?;
        return match String::from_utf8(bytes) {
            Ok(text) => Ok(Value::string(text)),
            Err(_) => Err(FuncError::call("the value has no JSON form")),
        };
    }
    let prefix = match value.ty() {
        _ if !value.is_not_null() => None,
        Type::String => Some("\""),
        Type::Object(_) | Type::Map(_) => Some("{"),
        Type::Tuple(_) | Type::List(_) | Type::Set(_) => Some("["),
        Type::Dynamic | Type::Bool | Type::Number => None,
    };
    let facts = Refinement {
        prefix: prefix.map(Into::into),
        ..Refinement::not_null()
    };
    Ok(ops::unknown_refined(Type::String, facts))
}

fn charset(args: &Args<'_>) -> Result<Charset, FuncError> {
    let name = args.text(1)?;
    Charset::find(name).ok_or_else(|| {
        FuncError::argument(
            1,
            format!(
                "{} is not the IANA name of a supported encoding",
                args.quote(1, name)
            ),
        )
    })
}

fn text_encode(args: &Args<'_>) -> Result<Value, FuncError> {
    let bytes = charset(args)?
        .encode(args.text(0)?)
        .ok_or_else(|| FuncError::argument(0, "the text has characters that the encoding has not"))?;
    Ok(Value::string(base64(&bytes)))
}

fn text_decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let charset = charset(args)?;
    let bytes =
        decode_base64(args.text(0)?).map_err(|_| FuncError::argument(0, "the value is not valid base64"))?;
    match charset.decode(&bytes).filter(|text| !text.contains('\u{fffd}')) {
        Some(text) => Ok(Value::string(text)),
        None => Err(FuncError::argument(
            0,
            "the value has bytes that mean nothing in the encoding",
        )),
    }
}

fn url_decode(args: &Args<'_>) -> Result<Value, FuncError> {
    let text = args.text(0)?;
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let code = digit().zip(digit()).map(|(high, low)| (high << 4 | low) as u8);
                code.ok_or_else(|| {
                    let shown = args.quote(0, text);
                    FuncError::call(format!(
                        "{shown} has a % that two hexadecimal digits do not follow"
                    ))
                })?
            }
            byte => byte,
        });
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Value::string(text)),
        Err(_) => Err(FuncError::call("the decoded bytes are not valid UTF-8")),
    }
}

fn url_encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte.into()),
            b' ' => out.push('+'),
            _ => {
                out.push('%');
                out.push(HEX[usize::from(byte >> 4)].into());
                out.push(HEX[usize::from(byte & 15)].into());
            }
        }
    }
    out
}
