//! Functions on numbers.
//!
//! Exact ones work on [`Number`], `log` and `pow` on 64-bit floats with Go's own algorithms ([`float`]), whose last digit
//! differs from the C library's. Nothing here turns numbers into text.

mod float;

use std::cmp::Ordering;

use ashlar_value::{Number, Type, Value, convert, ops};
use dashu_int::{IBig, UBig};

use crate::{
    Args, Builtin, Code, FuncError, Rule, Ty,
    protocol::{PURE, any, number},
};

/// Most digits that `parseint` reads: far over any use, low enough that none takes long.
const MOST_DIGITS: usize = 100_000;

/// Longest list that `range` makes.
const LONGEST_RANGE: usize = 1024;

pub(crate) const TABLE: &[Builtin] = &[
    Builtin {
        name: "abs",
        doc: "The absolute value of a number.",
        params: &[number("num").dynamic().marked()],
        examples: &["abs(-12.5) == 12.5", "abs(0) == 0"],
        code: Code::Run(|args| ops::absolute(args.get(0)).map_err(FuncError::from)),
        ..NUMBER
    },
    Builtin {
        name: "ceil",
        doc: "The least whole number that is not less than a number.",
        params: &[number("num")],
        examples: &["ceil(5.1) == 6", "ceil(-5.1) == -5"],
        code: Code::Run(|args| Ok(Value::number(args.number(0)?.ceil()))),
        ..NUMBER
    },
    Builtin {
        name: "floor",
        doc: "The greatest whole number that is not greater than a number.",
        params: &[number("num")],
        examples: &["floor(4.9) == 4", "floor(-4.1) == -5"],
        code: Code::Run(|args| Ok(Value::number(args.number(0)?.floor()))),
        ..NUMBER
    },
    Builtin {
        name: "log",
        doc: "The logarithm of a number to a base, in double precision.",
        params: &[number("num"), number("base")],
        examples: &["log(16, 2) == 4", "ceil(log(15, 2)) == 4"],
        code: Code::Run(|args| from_float(float::log(args.float(0)?) / float::log(args.float(1)?))),
        ..NUMBER
    },
    Builtin {
        name: "max",
        doc: "The greatest of the numbers.",
        variadic: Some(number("numbers").dynamic()),
        examples: &["max(12, 54, 3) == 54", r#"max("10", 9) == 10"#],
        code: Code::Run(|args| extreme(args, Ordering::Greater)),
        ..NUMBER
    },
    Builtin {
        name: "min",
        doc: "The least of the numbers.",
        variadic: Some(number("numbers").dynamic()),
        examples: &["min(12, 54, 3) == 3", "min([3, 2]...) == 2"],
        code: Code::Run(|args| extreme(args, Ordering::Less)),
        ..NUMBER
    },
    Builtin {
        name: "parseint",
        doc: "Reads a whole number written in a base between 2 and 62.",
        params: &[any("number").unknown(), number("base").unknown()],
        result: Rule::Is(Ty::Number),
        examples: &[
            r#"parseint("-FF", 16) == -255"#,
            r#"parseint("1011", 2) == 11"#,
            r#"parseint("aA", 62) == 656"#,
        ],
        code: Code::Run(parse_int),
        ..NUMBER
    },
    Builtin {
        name: "pow",
        doc: "A number raised to a power, in double precision.",
        params: &[number("num"), number("power")],
        examples: &["pow(2, 10) == 1024", "pow(2, -1) == 0.5"],
        code: Code::Run(|args| from_float(float::pow(args.float(0)?, args.float(1)?))),
        ..NUMBER
    },
    Builtin {
        name: "range",
        doc: "A list of numbers from a start (0 unless given) up to but without an end, in steps.",
        variadic: Some(number("params")),
        result: Rule::Is(Ty::List(&Ty::Number)),
        examples: &[
            "range(3) == tolist([0, 1, 2])",
            "range(1, 8, 2) == tolist([1, 3, 5, 7])",
            "range(4, 1) == tolist([4, 3, 2])",
        ],
        code: Code::Run(range),
        ..PURE
    },
    Builtin {
        name: "signum",
        doc: "-1, 0 or 1, the sign of a whole number.",
        params: &[number("num")],
        examples: &["signum(-13) == -1", "signum(0) == 0", "signum(344) == 1"],
        code: Code::Run(|args| Ok(Value::number(args.int(0)?.signum()))),
        ..NUMBER
    },
    Builtin {
        name: "sum",
        doc: "The sum of the numbers in a list, set or tuple.",
        params: &[any("list")],
        examples: &["sum([10, 13, 6, 4.5]) == 33.5", r#"sum(["1", 2]) == 3"#],
        code: Code::Run(sum),
        ..NUMBER
    },
];

/// Entries that give a number.
const NUMBER: Builtin = Builtin {
    result: Rule::Is(Ty::Number),
    ..PURE
};

fn from_float(result: f64) -> Result<Value, FuncError> {
    match Number::from_f64(result) {
        Some(number) => Ok(Value::number(number)),
        None => Err(FuncError::call("the result is not a number")),
    }
}

fn extreme(args: &Args<'_>, better: Ordering) -> Result<Value, FuncError> {
    if args.len() == 0 {
        return Err(FuncError::call("at least one number is required"));
    }
    let mut best = args.number(0)?;
    for index in 1..args.len() {
        let number = args.number(index)?;
        if number.compare(best) == better {
            best = number;
        }
    }
    Ok(Value::number(best.clone()))
}

fn parse_int(args: &Args<'_>) -> Result<Value, FuncError> {
    let (text, base) = (args.get(0), args.get(1));
    let marks = text.marks().union(base.marks());
    if text.ty() != Type::String {
        let ty = text.ty().friendly_name();
        return Err(FuncError::argument(0, format!("a string is required, not {ty}")));
    }
    if !text.is_known() || !base.is_known() {
        return Ok(Value::unknown(Type::Number).with_marks(marks));
    }
    let text = args.text(0)?;
    let base = args.int(1).map_err(|error| error.at(1))?;
    let base = u32::try_from(base).ok().filter(|base| (2..=62).contains(base));
    let base =
        base.ok_or_else(|| FuncError::argument(1, "the base must be a whole number between 2 and 62"))?;
    match parse_digits(text, base) {
        Some(number) => Ok(Value::number(Number::from_big(number)).with_marks(marks)),
        None => {
            let message = format!(
                "{} is not a whole number in base {}",
                args.quote(0, text),
                args.show(1, base)
            );
            Err(FuncError::argument(0, message))
        }
    }
}

/// In bases above 36 lower-case letters come before upper-case ones; in others case does not matter.
fn parse_digits(text: &str, base: u32) -> Option<IBig> {
    let (negative, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => (text.starts_with('-'), digits),
        None => (false, text),
    };
    if digits.is_empty() || digits.len() > MOST_DIGITS {
        return None;
    }
    let mut value = UBig::ZERO;
    // Several digits at once, as many as a word holds.
    let (mut word, mut scale) = (0, 1);
    for byte in digits.bytes() {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' if base <= 36 => byte - b'A' + 10,
            b'A'..=b'Z' => byte - b'A' + 36,
            _ => return None,
        };
        if u32::from(digit) >= base {
            return None;
        }
        word = word * u64::from(base) + u64::from(digit);
        scale *= u64::from(base);
        if scale > u64::from(u32::MAX) {
            value = value * scale + word;
            (word, scale) = (0, 1);
        }
    }
    let value = IBig::from(value * scale + word);
    Some(if negative { -value } else { value })
}

/// A step of zero is not refused as such, as in Terraform: it only makes the list too long, unless that is empty.
fn range(args: &Args<'_>) -> Result<Value, FuncError> {
    let (start, end) = match args.len() {
        1 => (Number::from(0), args.number(0)?),
        2 | 3 => (args.number(0)?.clone(), args.number(1)?),
        _ => return Err(FuncError::call("one, two or three arguments are required")),
    };
    let step = match args.len() {
        3 => args.number(2)?.clone(),
        _ => Number::from(if end.compare(&start).is_lt() { -1 } else { 1 }),
    };
    let down = step.sign() < 0;
    if down && end.compare(&start).is_gt() {
        return Err(FuncError::argument(
            1,
            "the end must not be greater than the start when the step is negative",
        ));
    }
    if !down && end.compare(&start).is_lt() {
        return Err(FuncError::argument(
            1,
            "the end must not be less than the start when the step is positive",
        ));
    }
    let mut items = Vec::new();
    let mut next = start;
    let before_end = if down { Ordering::Greater } else { Ordering::Less };
    while next.compare(end) == before_end {
        if items.len() >= LONGEST_RANGE {
            return Err(FuncError::call(format!(
                "the list would have more than {LONGEST_RANGE} elements"
            )));
        }
        items.push(Value::number(next.clone()));
        next = next
            .add(&step)
            .ok_or_else(|| FuncError::call("infinities of opposite sign have no sum"))?;
    }
    Ok(Value::list(Type::Number, items))
}

fn sum(args: &Args<'_>) -> Result<Value, FuncError> {
    let list = args.get(0);
    let wrong = || FuncError::argument(0, "a list, set or tuple of numbers is required");
    let items = list.as_items().ok_or_else(wrong)?;
    if items.is_empty() {
        return Err(FuncError::argument(0, "there is nothing to sum"));
    }
    if !list.is_wholly_known() {
        return Ok(Value::unknown(Type::Number));
    }
    let mut total: Option<Number> = None;
    for item in items {
        let item = convert(item, &Type::Number).map_err(|_| wrong())?;
        let number = item.as_number().ok_or_else(wrong)?;
        total = Some(match total {
            None => number.clone(),
            Some(total) => total
                .add(number)
                .ok_or_else(|| FuncError::call("infinities of opposite sign have no sum"))?,
        });
    }
    Ok(Value::number(total.unwrap_or_else(|| Number::from(0))))
}
