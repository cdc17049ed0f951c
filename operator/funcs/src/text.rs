//! Functions on strings. Lengths and positions count grapheme clusters, as users see characters.
//!
//! Nothing here formats values ([`crate::format`]) or knows patterns ([`crate::regex`], which `replace` borrows).

use ashlar_value::{Refinement, Type, Value, ops};
use unicode_segmentation::UnicodeSegmentation;

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{CELL, PURE, Param, number, param, text},
    regex,
};

const STRINGS: Ty = Ty::List(&Ty::String);

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "chomp",
        doc: "Removes all newlines at the end of a string.",
        params: &[text("str")],
        examples: &[
            r#"chomp("a\n\n") == "a""#,
            r#"chomp("a\r\n") == "a""#,
            r#"chomp("a\nb") == "a\nb""#,
        ],
        code: Code::Run(|args| Ok(Value::string(args.text(0)?.trim_end_matches(['\r', '\n'])))),
        ..TEXT
    },
    Builtin {
        name: "endswith",
        doc: "Tells whether a string ends with a suffix.",
        params: &[text("str"), text("suffix")],
        examples: &[r#"endswith("main.tf", ".tf")"#, r#"!endswith("main.tf", "x")"#],
        code: Code::Run(|args| Ok(Value::bool(args.text(0)?.ends_with(args.text(1)?)))),
        ..TEST
    },
    Builtin {
        name: "indent",
        doc: "Adds spaces before every line but the first.",
        params: &[number("spaces"), text("str")],
        examples: &[r#"indent(2, "a\nb") == "a\n  b""#],
        code: Code::Run(indent),
        ..TEXT
    },
    Builtin {
        name: "join",
        doc: "Puts the elements of one or more lists of strings together, with a separator between them.",
        params: &[text("separator")],
        variadic: Some(param("lists", STRINGS)),
        examples: &[
            r#"join("-", ["a", "b"], ["c"]) == "a-b-c""#,
            r#"join(",", []) == """#,
        ],
        code: Code::Run(join),
        ..TEXT
    },
    Builtin {
        name: "lower",
        doc: "Turns all letters into lower case.",
        params: &[STR],
        examples: &[r#"lower("HELLO") == "hello""#, r#"lower("İ") == "i""#],
        code: Code::Run(|args| {
            Ok(Value::string(
                args.text(0)?.chars().map(to_lower).collect::<String>(),
            ))
        }),
        ..TEXT
    },
    Builtin {
        name: "replace",
        doc: "Replaces every occurrence of a substring, or of a pattern written between slashes.",
        params: &[text("str"), text("substr"), text("replace")],
        examples: &[
            r#"replace("1 + 2 + 3", "+", "-") == "1 - 2 - 3""#,
            r#"replace("hello world", "/w.*d/", "all") == "hello all""#,
            r#"replace("ab", "/(a)(b)/", "$2$${1}") == "ba""#,
        ],
        code: Code::Run(replace),
        ..TEXT
    },
    Builtin {
        name: "sort",
        doc: "Sorts a list of strings by their bytes.",
        params: &[param("list", STRINGS).unknown()],
        result: Rule::Is(STRINGS),
        examples: &[
            r#"sort(["e", "a", "x"]) == tolist(["a", "e", "x"])"#,
            r#"sort([10, 9]) == tolist(["10", "9"])"#,
        ],
        code: Code::Run(sort),
        ..PURE
    },
    Builtin {
        name: "split",
        doc: "Cuts a string at every occurrence of a separator.",
        params: &[text("separator"), text("str")],
        result: Rule::Is(STRINGS),
        examples: &[
            r#"split(",", "a,b,") == tolist(["a", "b", ""])"#,
            r#"split(",", "") == tolist([""])"#,
            r#"split("", "ab") == tolist(["a", "b"])"#,
        ],
        code: Code::Run(split),
        ..PURE
    },
    Builtin {
        name: "startswith",
        doc: "Tells whether a string begins with a prefix.",
        params: &[text("str").unknown(), text("prefix")],
        examples: &[r#"startswith("vpc-1", "vpc")"#, r#"!startswith("", "x")"#],
        code: Code::Run(starts_with),
        ..TEST
    },
    Builtin {
        name: "strcontains",
        doc: "Tells whether a string contains another one.",
        params: &[text("str"), text("substr")],
        not_null: false,
        examples: &[r#"strcontains("hello", "ell")"#, r#"!strcontains("hello", "x")"#],
        code: Code::Run(|args| Ok(Value::bool(args.text(0)?.contains(args.text(1)?)))),
        ..TEST
    },
    Builtin {
        name: "strrev",
        doc: "Reverses the characters of a string.",
        params: &[STR],
        examples: &[r#"strrev("hello") == "olleh""#],
        code: Code::Run(|args| {
            Ok(Value::string(
                args.text(0)?.graphemes(true).rev().collect::<String>(),
            ))
        }),
        ..TEXT
    },
    Builtin {
        name: "substr",
        doc: "Takes a part of a string; a negative offset counts from the end, length -1 means the rest.",
        params: &[STR, number("offset").dynamic(), number("length").dynamic()],
        examples: &[
            r#"substr("hello world", 1, 4) == "ello""#,
            r#"substr("hello", -3, 2) == "ll""#,
            r#"substr("hello", 2, -1) == "llo""#,
        ],
        code: Code::Run(substr),
        ..TEXT
    },
    Builtin {
        name: "title",
        doc: "Turns the first letter of each word into title case.",
        params: &[text("str")],
        examples: &[
            r#"title("hello world") == "Hello World""#,
            r#"title("a-b_c") == "A-B_c""#,
        ],
        code: Code::Run(|args| Ok(Value::string(title(args.text(0)?)))),
        ..TEXT
    },
    Builtin {
        name: "trim",
        doc: "Removes the given characters from both ends of a string.",
        params: &[text("str"), text("cutset")],
        examples: &[r#"trim("?!hello?!", "!?") == "hello""#],
        code: Code::Run(|args| {
            let cutset = args.text(1)?;
            Ok(Value::string(args.text(0)?.trim_matches(|c| cutset.contains(c))))
        }),
        ..TEXT
    },
    Builtin {
        name: "trimprefix",
        doc: "Removes a prefix once, if the string has it.",
        params: &[text("str"), text("prefix")],
        examples: &[
            r#"trimprefix("helloworld", "hello") == "world""#,
            r#"trimprefix("aab", "a") == "ab""#,
        ],
        code: Code::Run(|args| {
            let text = args.text(0)?;
            Ok(Value::string(text.strip_prefix(args.text(1)?).unwrap_or(text)))
        }),
        ..TEXT
    },
    Builtin {
        name: "trimspace",
        doc: "Removes white space from both ends of a string.",
        params: &[text("str")],
        examples: &[r#"trimspace("  hello\n") == "hello""#],
        code: Code::Run(|args| Ok(Value::string(args.text(0)?.trim()))),
        ..TEXT
    },
    Builtin {
        name: "trimsuffix",
        doc: "Removes a suffix once, if the string has it.",
        params: &[text("str"), text("suffix")],
        examples: &[r#"trimsuffix("helloworld", "world") == "hello""#],
        code: Code::Run(|args| {
            let text = args.text(0)?;
            Ok(Value::string(text.strip_suffix(args.text(1)?).unwrap_or(text)))
        }),
        ..TEXT
    },
    Builtin {
        name: "upper",
        doc: "Turns all letters into upper case.",
        params: &[STR],
        examples: &[r#"upper("hello") == "HELLO""#, r#"upper("ß") == "ß""#],
        code: Code::Run(|args| {
            Ok(Value::string(
                args.text(0)?.chars().map(to_upper).collect::<String>(),
            ))
        }),
        ..TEXT
    },
];

/// Entries that give a string.
const TEXT: Builtin = Builtin {
    result: Rule::Is(Ty::String),
    ..PURE
};

/// Entries that give a truth value.
const TEST: Builtin = Builtin {
    result: Rule::Is(Ty::Bool),
    ..PURE
};

const STR: Param = text("str").dynamic();

fn indent(args: &Args<'_>) -> Result<Value, FuncError> {
    let text = args.text(1)?;
    let spaces = usize::try_from(args.int(0)?)
        .map_err(|_| FuncError::call("the number of spaces must not be negative"))?;
    let lines = text.bytes().filter(|byte| *byte == b'\n').count();
    // No computer holds a text of so many bytes.
    let added = spaces
        .checked_mul(lines)
        .filter(|added| isize::try_from(*added).is_ok() && u32::try_from(spaces).is_ok())
        .ok_or_else(|| FuncError::call("the result would be too long"))?;
    args.reserve(text.len().saturating_add(added))?;
    if lines == 0 {
        return Ok(args.get(1).clone());
    }
    let newline = format!("\n{}", " ".repeat(spaces));
    Ok(Value::string(text.replace('\n', &newline)))
}

fn join(args: &Args<'_>) -> Result<Value, FuncError> {
    let separator = args.text(0)?;
    let lists = args.rest(1);
    if lists.is_empty() {
        return Err(FuncError::call("at least one list is required"));
    }
    if lists.iter().any(|list| !list.is_wholly_known()) {
        return Ok(Value::unknown(Type::String));
    }
    let mut parts = Vec::new();
    for (at, list) in lists.iter().enumerate() {
        for (index, item) in list.as_items().unwrap_or_default().iter().enumerate() {
            let Some(text) = item.as_str() else {
                let message = format!("element {index} is null, and null cannot be joined to a string");
                return Err(FuncError::argument(at + 1, message));
            };
            parts.push(&**text);
        }
    }
    let separators = separator.len().saturating_mul(parts.len());
    args.reserve(
        parts
            .iter()
            .map(|part| part.len())
            .sum::<usize>()
            .saturating_add(separators),
    )?;
    Ok(Value::string(parts.join(separator)))
}

fn replace(args: &Args<'_>) -> Result<Value, FuncError> {
    let (text, find, new) = (args.text(0)?, args.text(1)?, args.text(2)?);
    let pattern = find.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    Ok(Value::string(match pattern {
        Some(pattern) => {
            let pattern = regex::compile(pattern).map_err(|why| {
                FuncError::call(format!("the pattern cannot be used: {}", args.show(1, why)))
            })?;
            args.reserve(text.len())?;
            pattern.replace_all(text, new, &|bytes| args.reserve(bytes))?
        }
        None => {
            let added = text.matches(find).count().saturating_mul(new.len());
            args.reserve(text.len().saturating_add(added))?;
            text.replace(find, new)
        }
    }))
}

fn sort(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let items = match list.as_items() {
        Some(items) if list.is_wholly_known() => items,
        _ => return Ok(sorted_unknown(list)),
    };
    let mut texts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let Some(text) = item.as_str() else {
            return Err(FuncError::call(format!(
                "list element {index} is null, and null cannot be sorted"
            )));
        };
        texts.push(text);
    }
    texts.sort();
    Ok(Value::list(
        Type::String,
        texts.into_iter().map(Value::string).collect(),
    ))
}

/// Sorting changes no length.
fn sorted_unknown(list: &Value) -> Value {
    let Refinement {
        length_min,
        length_max,
        ..
    } = ops::range(list);
    let facts = Refinement {
        length_min,
        length_max,
        ..Refinement::not_null()
    };
    ops::unknown_refined(Type::list(Type::String), facts)
}

fn split(args: &Args<'_>) -> Result<Value, FuncError> {
    let (separator, text) = (args.text(0)?, args.text(1)?);
    let parts = if separator.is_empty() {
        text.chars().count()
    } else {
        text.matches(separator).count() + 1
    };
    args.reserve(text.len().saturating_add(parts.saturating_mul(CELL)))?;
    let parts = if separator.is_empty() {
        text.chars()
            .map(|c| Value::string(c.encode_utf8(&mut [0; 4])))
            .collect()
    } else {
        text.split(separator).map(Value::string).collect()
    };
    Ok(Value::list(Type::String, parts))
}

fn starts_with(args: &Args<'_>) -> Result<Value, FuncError> {
    let prefix = args.text(1)?;
    let value = args.get(0);
    if value.is_known() {
        return Ok(Value::bool(args.text(0)?.starts_with(prefix)));
    }
    let known = value
        .refinement()
        .and_then(|refinement| refinement.prefix.as_deref())
        .unwrap_or_default();
    Ok(if known.starts_with(prefix) {
        Value::bool(true)
    } else if !known.is_empty() && known.len() >= prefix.len() {
        Value::bool(false)
    } else {
        Value::unknown(Type::Bool)
    })
}

/// The odd case is Terraform's: length 0 with a negative offset gives the rest of the string.
fn substr(args: &Args<'_>) -> Result<Value, FuncError> {
    let (text, mut offset, length) = (args.text(0)?, args.int(1)?, args.int(2)?);
    if offset < 0 {
        offset = offset.saturating_add(text.graphemes(true).count() as i64);
    } else if length == 0 {
        return Ok(Value::string(""));
    }
    let start = nth_boundary(text, usize::try_from(offset).unwrap_or(0));
    let rest = &text[start..];
    let end = match usize::try_from(length) {
        Ok(0) | Err(_) => rest.len(),
        Ok(length) => nth_boundary(rest, length),
    };
    Ok(Value::string(&rest[..end]))
}

/// Where the character of this index begins, or the end of the text.
fn nth_boundary(text: &str, index: usize) -> usize {
    text.grapheme_indices(true)
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

/// A word begins after white space or an ASCII character that is no letter, digit or underscore.
fn title(text: &str) -> String {
    let mut previous = ' ';
    text.chars()
        .map(|c| {
            let separated = if previous.is_ascii() {
                !(previous.is_ascii_alphanumeric() || previous == '_')
            } else {
                previous.is_whitespace()
            };
            previous = c;
            if separated { to_title(c) } else { c }
        })
        .collect()
}

/// Unicode's simple mapping, one character to one, as Go has it.
fn to_upper(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(single), None) => single,
        // Of the letters whose full mapping is longer, those with a combined iota have a simple mapping too.
        _ => match u32::from(c) {
            code @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => {
                char::from_u32(code + 8).unwrap_or(c)
            }
            code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => char::from_u32(code + 9).unwrap_or(c),
            _ => c,
        },
    }
}

/// Unicode's simple mapping, one character to one, as Go has it.
fn to_lower(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

/// Upper case, but for the few letters that have a title case of their own.
fn to_title(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10fa}' | '\u{10fd}'..='\u{10ff}' => c,
        _ => to_upper(c),
    }
}
