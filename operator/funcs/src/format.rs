//! `format` and `formatlist`: printf-like verbs over values.
//!
//! The grammar is cty's: flags, width, precision, argument index, verb. Numbers come out as Go's `fmt` writes big integers
//! and floats. Nothing here converts values but as a verb asks for it.

mod digits;
mod verb;

use ashlar_value::{Number, Refinement, Type, Value, ops};

use self::verb::parse;
use crate::{
    Args, Builtin, Code, Fault, FuncError, Rule, Ty,
    protocol::{CELL, PURE, Param, any, is_dynamic, text},
};

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
